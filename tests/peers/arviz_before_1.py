"""The Zarr stores of sampled infers, opened with ArviZ before 1.0 and Zarr 3 or later.

    python tests/peers/arviz_before_1.py FOLDER...

`arviz.from_zarr` of these versions of ArviZ needs Zarr 2 and names what replaces it with Zarr 3: `xarray.open_datatree`, then
`arviz.InferenceData.from_datatree`. For each store: the groups are there, and no R-hat that ArviZ computes is above 1.1.
"""

import json
import pathlib
import sys

import arviz as az
import xarray as xr


def check(folder):
    results = json.loads((folder / "result.json").read_text())["infer"]
    for name, result in results.items():
        store = folder / ("posterior.zarr" if len(results) == 1 else f"posterior.{name}.zarr")
        if "diagnostics" not in result or not store.exists():
            continue
        data = az.InferenceData.from_datatree(xr.open_datatree(store, engine="zarr"))
        groups = set(data.groups())
        assert groups >= {"posterior", "sample_stats", "observed_data"}, groups
        rhats = az.rhat(data.posterior)
        worst = max(float(rhats[site].max()) for site in rhats)
        assert worst < 1.1, (folder, worst)
        print(f"{folder.name}/{name}: {len(groups)} groups, R-hat at most {worst:.4f}")


if __name__ == "__main__":
    for path in sys.argv[1:]:
        check(pathlib.Path(path))
