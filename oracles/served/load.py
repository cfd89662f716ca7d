"""Many readers at once."""

import http.client
import random
import threading
import time

from .site import Site, Times

# A reader looks at a page before the next: 50 of them are no flood.
PAUSE_S = 0.1
PAGES = ["/", "/", "/", "/?page=2", "/?sort=-tpot_p50_ns", "/?q=H100", "/?sort=name&page=3", "/trend?metric=tpot_p50_ns"]


def read(site: Site, readers: int, seconds: float, seed: int) -> tuple[dict[str, Times], list[int]]:
    """Times by page, and the server's memory over time."""
    times: dict[str, Times] = {page: Times() for page in PAGES}
    lock, end = threading.Lock(), time.monotonic() + seconds

    def one(number: int):
        draw = random.Random(seed * 1000 + number)
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=120)
        while time.monotonic() < end:
            page = draw.choice(PAGES)
            try:
                answer = site.ask(page, connection=connection)
                fault = None if answer.status == 200 and "</html>" in answer.body else f"{page}: {answer.status}"
            except OSError as error:
                connection.close()
                answer, fault = None, f"{page}: {error!r}"
            with lock:
                if answer:
                    times[page].seconds.append(answer.seconds)
                if fault:
                    times[page].wrong.append(fault)
            time.sleep(PAUSE_S * draw.uniform(0.5, 1.5))
        connection.close()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(readers)]
    for thread in threads:
        thread.start()
    memory = []
    while any(thread.is_alive() for thread in threads):
        memory.append(site.memory())
        time.sleep(min(1.0, seconds / 20))
    for thread in threads:
        thread.join()
    return times, memory


def growth(memory: list[int]) -> tuple[float, float]:
    """Largest of the first third after the start, and of the last third, in bytes."""
    third = max(1, len(memory) // 3)
    return float(max(memory[: 2 * third])), float(max(memory[-third:]))
