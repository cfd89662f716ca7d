"""What engines that batch by themselves have in common: all samples of a round are handed to them at once."""

from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, List, NamedTuple, Optional

from rooflens.runtimes.pytorch import memory, weights
from rooflens.runtimes.pytorch.inputs import chat_text, is_chat
from rooflens.runtimes.pytorch.model import DTYPES, pick_dtype, read_config, tell_model
from rooflens.workload import dataset, pictures
from rooflens.workload.dataset import Round, Sample
from rooflens.workload.events import Events
from rooflens.workload.records import Records, Request, Step, Tokens, write_facts
from rooflens.workload.spec import Spec


# Keys of `infer` that engines know by the same name.
HANDED_ON = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")


class Answered(NamedTuple):
    """What an engine made of one prompt. All times are of the monotonic clock."""

    # Has prompt_token_ids and outputs[0] with token_ids, text and finish_reason.
    output: Any
    start_ns: int
    # From there to its first step; null where the engine does not tell.
    queued_ns: Optional[int]
    token_ns: List[int]
    end_ns: int


class EngineWorkload:
    """A running engine, and what a round over the samples needs of it."""

    device: Any
    # Has the tokenizer.
    loaded: Any

    def __init__(self, spec: Spec, events: Events):
        self.spec = spec
        self.events = events
        self.seed = spec.count("seed", 0, least=0)
        self._prompts: Dict[str, Any] = {}
        self._epochs_told: set = set()

    def prompt(self, sample: Sample) -> Any:
        raise NotImplementedError

    def sampling(self, seed: int) -> Any:
        raise NotImplementedError

    def watched(self, round_: Round) -> ContextManager[Any]:
        raise NotImplementedError

    def generate(self, round_: Round, prompts: List[Any], params: List[Any]) -> List[Answered]:
        """Gives all prompts to the engine and waits until they are answered. Only notes times."""
        raise NotImplementedError

    def steps(self, round_: Round) -> List[Step]:
        """The steps of the round that just ended, as far as the engine shows them."""
        raise NotImplementedError

    def facts(self) -> Dict[str, Any]:
        """What workload.json says of this engine alone."""
        raise NotImplementedError

    def run_round(self, round_: Round, records: Records) -> None:
        samples = [sample for batch in round_.batches for sample in batch]
        for sample in samples:
            if sample.id not in self._prompts:
                self._prompts[sample.id] = self.prompt(sample)
        params = [self.sampling(self.seed + i) for i in range(len(samples))]
        ids = [sample.id for sample in samples]
        self.events.emit("round_begin", round=round_.number, kind=round_.kind, epoch=round_.epoch, batches=1)
        if self.spec.progress == "batch":
            self.events.emit("batch_begin", round=round_.number, batch=0, samples=ids)

        answers = self.generate(round_, [self._prompts[id_] for id_ in ids], params)
        start_ns = min(answer.start_ns for answer in answers)
        end_ns = max(answer.end_ns for answer in answers)

        records.add_steps(self.steps(round_))
        requests = [request_of(round_, sample, answer) for sample, answer in zip(samples, answers)]
        records.add_requests(requests)
        if round_.kind != "warmup" and round_.epoch not in self._epochs_told:
            self._epochs_told.add(round_.epoch)
            self._keep_tokens(round_, samples, answers, records)
        if self.spec.progress == "batch":
            self.events.emit(
                "batch_end", round=round_.number, batch=0, samples=ids,
                prompt_tokens=sum(r.prompt_tokens for r in requests),
                output_tokens=sum(r.output_tokens for r in requests), start_ns=start_ns,
                first_token_ns=min(r.token_ns[0] for r in requests if r.token_ns), end_ns=end_ns,
            )
        self.events.emit("round_end", round=round_.number, kind=round_.kind, dur_ns=end_ns - start_ns)

    def _keep_tokens(
        self, round_: Round, samples: List[Sample], answers: List[Answered], records: Records
    ) -> None:
        for i, (sample, answered) in enumerate(zip(samples, answers)):
            answer = answered.output.outputs[0]
            ids = list(answer.token_ids)
            prompt_ids = list(answered.output.prompt_token_ids)
            records.add_tokens([Tokens(round_.number, sample.id, self.seed + i, prompt_ids, ids, answer.text)])
            text = pictures.text_of(self.loaded.tokenizer, ids)
            record = {"sample": sample.id, "prompt": sample.text, "answer": text, "tokens": len(ids)}
            record["picture"] = pictures.open_upright(sample.path).record if sample.is_image else None
            records.add_predictions([{"round": round_.number, **record}])


def run(spec: Spec, events: Events, start: Callable[[Spec, Events], EngineWorkload]) -> None:
    """Runs a pass: `start` loads the model."""
    events.stage = "loading the dataset"
    samples = dataset.load(spec)
    # The engine batches by itself: all samples of a round are one lot for it.
    rounds = dataset.rounds(spec, samples, batch_size=len(samples))

    events.stage = "loading the model"
    workload = start(spec, events)
    events.emit(
        "dataset", name=spec.text("dataset.name"), kind=spec.text("dataset.kind"), samples=len(samples),
        batch_size=spec.count("runtime.batch_size"), rounds=len(rounds),
    )
    events.emit("memory", when="loaded", **memory.now(workload.device))

    with Records(spec.output, spec.keeps_predictions) as records:
        for round_ in rounds:
            events.stage = f"running round {round_.number} ({round_.kind})"
            with workload.watched(round_):
                workload.run_round(round_, records)
        events.stage = "writing results"
        events.emit("memory", when="end", **memory.now(workload.device))
        memory.write(spec, workload.device, events)
    records.tell(events)
    write_facts(spec, events, "host", **workload.facts())


def request_of(round_: Round, sample: Sample, answered: Answered) -> Request:
    answer = answered.output.outputs[0]
    return Request(
        round=round_.number, kind=round_.kind, batch_index=None, sample=sample.id,
        prompt_tokens=len(answered.output.prompt_token_ids), output_tokens=len(answer.token_ids),
        start_ns=answered.start_ns, queued_ns=answered.queued_ns, token_ns=answered.token_ns,
        finish=answer.finish_reason or "unknown",
    )


def token_ids(spec: Spec, tokenizer: Any, sample: Sample) -> List[int]:
    if is_chat(spec, sample):
        return tokenizer(chat_text(tokenizer, sample), add_special_tokens=False).input_ids
    return tokenizer(sample.text).input_ids


def sampling_options(spec: Spec, seed: int, greedy: Dict[str, Any]) -> Dict[str, Any]:
    """`infer` as the SamplingParams of an engine takes it; `greedy` is the engine's word for no sampling."""
    options = dict(greedy)
    if spec.flag("infer.do_sample", False):
        options = {key: spec.get(f"infer.{key}") for key in HANDED_ON if spec.get(f"infer.{key}", None) is not None}
        options["seed"] = seed
    return {"max_tokens": spec.max_new_tokens, "ignore_eos": spec.flag("infer.ignore_eos", False), **options}


class Checkpoint(NamedTuple):
    """The weights that an engine loads, in the format of every other runtime."""

    # model.path, which has the config.
    folder: Path
    # Where the weights are: there, or where random ones were made.
    where: Path
    config: Any
    dtype: Any
    source: str


def checkpoint(spec: Spec, events: Events, folder: Path) -> Checkpoint:
    config = read_config(spec, folder)
    dtype = pick_dtype(spec.choice("model.dtype", ("auto", *DTYPES)), config)
    source = weights.source(spec, folder)
    where = folder
    if source == "random":
        events.emit("loading", what="random weights", path=str(spec.cache))
        trust = {"trust_remote_code": spec.flag("model.trust_remote_code", False)}
        where = weights.checkpoint(folder, config, dtype, spec.count("seed", 0, least=0), trust, spec.cache)
    return Checkpoint(folder, where, config, dtype, source)


def model_arguments(spec: Spec, made: Checkpoint) -> Dict[str, Any]:
    """The arguments that every engine takes by the same name."""
    return {
        "model": str(made.where),
        "tokenizer": str(made.where),
        "dtype": str(made.dtype).replace("torch.", ""),
        "tensor_parallel_size": spec.count("runtime.tensor_parallel_size", 1),
        "trust_remote_code": spec.flag("model.trust_remote_code", False),
    }


def tell(spec: Spec, events: Events, made: Checkpoint, config: Any, text_config: Any, **facts: Any) -> None:
    """Emits the event `model`. `facts`: dtype, device, device_name, compile and load_ns."""
    parameters, parameter_bytes = count_parameters(made.where)
    architecture = (getattr(config, "architectures", None) or [None])[0]
    tell_model(
        spec, events, made.folder, made.source, text_config, architecture=architecture, parameters=parameters,
        parameter_bytes=parameter_bytes, attention=None, **facts,
    )


def count_parameters(folder: Path) -> Any:
    """Of the checkpoint, by the headers of its files; null where it has none that can be read."""
    from safetensors import safe_open

    count = size = 0
    files = sorted(folder.glob("*.safetensors"))
    for file in files:
        with safe_open(file, "pt") as opened:
            for name in opened.keys():
                view = opened.get_slice(name)
                numbers = 1
                for length in view.get_shape():
                    numbers *= length
                count += numbers
        size += file.stat().st_size
    return (count, size) if files else (None, None)
