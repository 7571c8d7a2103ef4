"""Stan's side of one measurement: stanc and the headers of the httpstan package, compiled with g++."""

import json
import os
import resource
import subprocess
import sys
import sysconfig
import time

import numpy

import posteriors
import side

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(sysconfig.get_paths()["purelib"], "httpstan")
DEFINES = ["STAN_THREADS", "_REENTRANT", "_GLIBCXX_USE_CXX11_ABI=0"]
DEFINES += ["BOOST_DISABLE_ASSERTS", "BOOST_PHOENIX_NO_VARIADIC_EXPRESSION"]
PROGRAMS = {"eight-schools": "schools", "nes-logit": "votes", "yacht": "network"}


def compiler(*words):
    flags = ["-O3", "-march=native", "-std=c++17", "-w", *(f"-D{define}" for define in DEFINES)]
    subprocess.run(["g++", *flags, f"-I{PACKAGE}/include", *words], check=True)


def built(program, folder):
    """Stan's program as an executable, with the seconds that making it took, which is done once. So is what does not depend on the
    program (CmdStan's `make build`), whose seconds are not counted."""
    main, binary = os.path.join(folder, "main.o"), os.path.join(folder, program)
    if not os.path.exists(main):
        compiler("-c", os.path.join(HERE, "stan_main.cpp"), "-o", main)
    if not os.path.exists(binary):
        began = time.time()
        source = os.path.join(HERE, f"{program}.stan")
        subprocess.run([f"{PACKAGE}/stanc", "--O1", f"--o={binary}.cpp", source], check=True)
        compiler(f"{binary}.cpp", main, "-o", binary, f"{PACKAGE}/lib/libtbb.so.2", f"-Wl,-rpath,{PACKAGE}/lib")
        with open(f"{binary}.seconds", "w") as file:
            file.write(str(time.time() - began))
    with open(f"{binary}.seconds") as file:
        return binary, float(file.read())


def arguments_of(name, data):
    """The data block of a posterior's program."""
    if name == "eight-schools":
        return {"n": len(data["y"]), **data}
    if name == "nes-logit":
        return {"n": len(data["vote"]), "x": data["income"][:, None], "vote": data["vote"]}
    sizes = {"n": data["x"].shape[0], "p": data["x"].shape[1], "x": data["x"], "y": data["y"]}
    if name == "yacht":
        return {**sizes, "hidden": posteriors.HIDDEN}
    flat = data["beta_sd"] is None
    priors = {"beta_flat": int(flat), "beta_sd": 1.0 if flat else data["beta_sd"]}
    sigma = {"sigma_prior": ["flat", "cauchy", "normal"].index(data["sigma_prior"]), "sigma_scale": data["sigma_scale"]}
    return {**sizes, **priors, **sigma}


def site(columns, values, name):
    """The columns of one parameter; Stan's matrices are written column by column, which `w1` transposed is read row by row."""
    if name in columns:
        return values[..., columns.index(name)]
    return values[..., [at for at, column in enumerate(columns) if column.startswith(name + ".")]]


def main():
    options, _ = side.start()
    binary, compiled = built(PROGRAMS.get(options.posterior, "regression"), options.binaries)
    data_file, out = f"{options.out}.json", f"{options.out}.bin"
    with open(data_file, "w") as file:
        json.dump(arguments_of(options.posterior, posteriors.load(options.posterior)), file, default=lambda array: array.tolist())
    ready = time.time()
    numbers = (options.warmup, options.draws, options.chains, options.seed)
    command = [binary, data_file, out, *map(str, numbers), options.metric]
    environment = {**os.environ, "STAN_NUM_THREADS": str(options.cores)}
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    before = usage.ru_utime + usage.ru_stime
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    ended = time.time()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(out, "rb") as file:
        columns = file.readline().decode().strip(",\n").split(",")
        values = numpy.frombuffer(file.read()).reshape(options.chains, options.draws, len(columns))
    names = {column.split(".")[0] for column in columns if not column.endswith("__")}
    draws = {name: site(columns, values, name) for name in names}
    if "w1" in draws:
        draws["w1"] = draws["w1"].reshape(*draws["w1"].shape[:2], posteriors.HIDDEN, -1)
    if options.posterior == "nes-logit":
        draws["beta"] = draws["beta"][..., 0]
    side.finish(
        options,
        draws,
        {
            # What Python does here is no part of Stan: its executable starts by itself.
            "import": 0.0,
            "compile": compiled,
            "sample": float(printed),
            "sample_cpu": usage.ru_utime + usage.ru_stime - before,
            "total": compiled + ended - ready,
            "gradients": int(site(columns, values, "n_leapfrog__").sum()),
            "divergences": int(site(columns, values, "divergent__").sum()),
        },
    )


if __name__ == "__main__":
    main()
