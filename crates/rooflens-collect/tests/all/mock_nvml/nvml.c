// A mock of libnvidia-ml at the ABI: the functions that Rooflens calls, with answers from a script.
//
// The script lies beside the library: <library>.script. A line is a key and its answers, one a call; the last
// is repeated. `!N` returns the error N. A key that is not there returns NOT_SUPPORTED (3).
//
//     init !9
//     count 2
//     0.name NVIDIA H100 80GB HBM3
//     0.power 70000 71000 !15
//
// Layouts and codes are those of nvml.h (driver 535 and later). It says nothing of how a real driver behaves.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, LINES = 256, DEVICES = 16, METRICS = 210 };

struct line { char key[64]; char answers[512]; int calls; };
static struct line lines[LINES];
static int line_count;
static int handles[DEVICES];

typedef struct { unsigned gpu, memory; } utilization_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2_t;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } process_t;
typedef struct { unsigned pid; unsigned long long at; unsigned sm, mem, enc, dec; } process_use_t;
typedef struct { unsigned version, supported; } gpm_support_t;
typedef struct { unsigned id; int code; double value; char *short_name, *long_name, *unit; } gpm_metric_t;
typedef struct { unsigned version, count; void *before, *after; gpm_metric_t metrics[METRICS]; } gpm_get_t;

static struct line *find(const char *key) {
  for (int i = 0; i < line_count; i++)
    if (!strcmp(lines[i].key, key)) return &lines[i];
  return NULL;
}

// The answer to this call, or to the next one where it does not count.
static int answer(const char *key, int counts, char *out, size_t size) {
  struct line *line = find(key);
  if (!line) return NOT_SUPPORTED;
  const char *at = line->answers;
  for (int skip = line->calls; skip > 0 && strchr(at, ' '); skip--) at = strchr(at, ' ') + 1;
  if (counts) line->calls++;
  if (*at == '!') return atoi(at + 1);
  size_t length = strcspn(at, " ");
  if (length >= size) length = size - 1;
  memcpy(out, at, length);
  out[length] = 0;
  return SUCCESS;
}

static const char *key_of(const void *device, const char *what) {
  static char key[64];
  snprintf(key, sizeof key, "%d.%s", (int)((const int *)device - handles), what);
  return key;
}

static int number(const void *device, const char *what, unsigned long long *out) {
  char text[128];
  int code = answer(key_of(device, what), 1, text, sizeof text);
  if (code == SUCCESS) *out = strtoull(text, NULL, 10);
  return code;
}

static int small(const void *device, const char *what, unsigned *out) {
  unsigned long long value = 0;
  int code = number(device, what, &value);
  if (code == SUCCESS) *out = (unsigned)value;
  return code;
}

static int whole_line(const char *key, char *out, unsigned size) {
  struct line *line = find(key);
  if (!line) return NOT_SUPPORTED;
  if (line->answers[0] == '!') return atoi(line->answers + 1);
  snprintf(out, size, "%s", line->answers);
  return SUCCESS;
}

int nvmlInit_v2(void) {
  Dl_info self;
  char path[4096], text[600];
  if (!dladdr((void *)nvmlInit_v2, &self)) return 999;
  snprintf(path, sizeof path, "%s.script", self.dli_fname);
  FILE *script = fopen(path, "r");
  if (!script) return 999;
  line_count = 0;
  while (line_count < LINES && fgets(text, sizeof text, script)) {
    text[strcspn(text, "\n")] = 0;
    char *blank = strchr(text, ' ');
    if (!blank) continue;
    *blank = 0;
    struct line *line = &lines[line_count++];
    snprintf(line->key, sizeof line->key, "%.63s", text);
    snprintf(line->answers, sizeof line->answers, "%.511s", blank + 1);
    line->calls = 0;
  }
  fclose(script);
  int code = answer("init", 1, text, sizeof text);
  return code == NOT_SUPPORTED ? SUCCESS : code;
}

int nvmlShutdown(void) { return SUCCESS; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { return whole_line("driver", out, size); }

int nvmlDeviceGetCount_v2(unsigned *out) {
  char text[32];
  int code = answer("count", 1, text, sizeof text);
  if (code == SUCCESS) *out = (unsigned)atoi(text);
  return code;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
  char text[32];
  if (index >= DEVICES) return 2;
  *out = &handles[index];
  int code = answer(key_of(*out, "handle"), 1, text, sizeof text);
  return code == NOT_SUPPORTED ? SUCCESS : code;
}

int nvmlDeviceGetName(void *device, char *out, unsigned size) { return whole_line(key_of(device, "name"), out, size); }
int nvmlDeviceGetUUID(void *device, char *out, unsigned size) { return whole_line(key_of(device, "uuid"), out, size); }

int nvmlDeviceGetUtilizationRates(void *device, utilization_t *out) {
  int code = small(device, "util.gpu", &out->gpu);
  return code ? code : small(device, "util.memory", &out->memory);
}

int nvmlDeviceGetClockInfo(void *device, unsigned clock, unsigned *out) {
  // NVML_CLOCK_SM is 1, NVML_CLOCK_MEM is 2.
  return small(device, clock == 1 ? "clock.sm" : clock == 2 ? "clock.memory" : "clock.other", out);
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *out) { return small(device, "power", out); }
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *out) { return small(device, "power.limit", out); }
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *out) { return number(device, "energy", out); }

int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *out) {
  return sensor ? 2 : small(device, "temperature", out);
}

int nvmlDeviceGetMemoryInfo_v2(void *device, memory_v2_t *out) {
  if (out->version != (sizeof *out | 2u << 24)) return 25;
  int code = number(device, "memory.total", &out->total);
  if (!code) code = number(device, "memory.used", &out->used);
  out->free = out->total - out->used;
  return code;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *out) {
  return number(device, "throttle", out);
}

int nvmlDeviceGetPerformanceState(void *device, unsigned *out) { return small(device, "pstate", out); }

// pid:bytes,pid:bytes or `none`. The first call asks how many there are.
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, process_t *out) {
  char text[512];
  unsigned found = 0, room = *count;
  int code = answer(key_of(device, "processes"), room > 0, text, sizeof text);
  if (code) return code;
  for (char *at = strtok(text, ","); at && strcmp(at, "none"); at = strtok(NULL, ","), found++) {
    if (found >= room) continue;
    char *colon = strchr(at, ':');
    out[found] = (process_t){(unsigned)atoi(at), strtoull(colon + 1, NULL, 10), 0xFFFFFFFF, 0xFFFFFFFF};
  }
  *count = found;
  return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

// pid:sm:time,…
int nvmlDeviceGetProcessUtilization(void *device, process_use_t *out, unsigned *count, unsigned long long since) {
  char text[512];
  unsigned found = 0, room = out ? *count : 0;
  (void)since;
  int code = answer(key_of(device, "process.util"), room > 0, text, sizeof text);
  if (code) return code;
  for (char *at = strtok(text, ","); at; at = strtok(NULL, ","), found++) {
    unsigned pid, sm, time;
    if (found < room && sscanf(at, "%u:%u:%u", &pid, &sm, &time) == 3)
      out[found] = (process_use_t){pid, time, sm, 0, 0, 0};
  }
  *count = found;
  return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlGpmQueryDeviceSupport(void *device, gpm_support_t *out) {
  return small(device, "gpm.support", &out->supported);
}

int nvmlGpmSampleAlloc(void ***out) {
  *out = calloc(1, sizeof **out);
  return SUCCESS;
}

int nvmlGpmSampleFree(void **sample) {
  free(sample);
  return SUCCESS;
}

int nvmlGpmSampleGet(void *device, void **sample) {
  *sample = device;
  return SUCCESS;
}

int nvmlGpmMetricsGet(gpm_get_t *get) {
  void *device = *(void **)get->after;
  if (get->version != 1 || *(void **)get->before != device) return 2;
  for (unsigned i = 0; i < get->count; i++) {
    char what[32], text[64];
    snprintf(what, sizeof what, "gpm.%u", get->metrics[i].id);
    get->metrics[i].code = answer(key_of(device, what), 1, text, sizeof text);
    get->metrics[i].value = get->metrics[i].code ? 0 : atof(text);
  }
  return SUCCESS;
}
