"""llama.cpp's own HTTP server on a model file, until its input ends: `python llama_server.py FILE`,
in the environment `llama`. Prints its address."""

import sys

import xllamacpp

settings = xllamacpp.CommonParams()
settings.model.path = sys.argv[1]
settings.n_ctx = 32_768
settings.n_parallel = 1
settings.n_predict = 400
settings.cpuparams.n_threads = 1
settings.warmup = False
settings.use_jinja = True
settings.hostnames = ["127.0.0.1"]
settings.port = 0
server = xllamacpp.Server(settings)
print(f"listening {server.listening_address}", flush=True)
sys.stdin.read()
