"""llama.cpp's server from the package xllamacpp, with the flags of `llama-server` that a load test uses.

    python oracles/serving/llama_server.py -m tiny.gguf --host 127.0.0.1 --port 8080 --parallel 4 --metrics
"""

import argparse
import signal

import xllamacpp


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-a", "--alias")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("-np", "--parallel", type=int, default=4)
    parser.add_argument("-c", "--ctx-size", type=int, default=8192)
    parser.add_argument("-t", "--threads", type=int, default=1)
    parser.add_argument("--metrics", action="store_true")
    args = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path = args.model
    if args.alias:
        params.model_alias = {args.alias}
    params.hostnames = [args.host]
    params.port = args.port
    params.n_parallel = args.parallel
    params.n_ctx = args.ctx_size
    params.endpoint_metrics = args.metrics
    params.cpuparams.n_threads = args.threads
    params.warmup = False
    server = xllamacpp.Server(params)
    print("listening at", server.listening_address, flush=True)
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: None)
    signal.pause()


if __name__ == "__main__":
    main()
