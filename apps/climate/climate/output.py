# SPDX-License-Identifier: BSD-3-Clause
"""Component `output`: gets monthly means through the coupler and writes them with the CF
conventions, air.nc's fields on longitudes and latitudes, those of the sea on its cells."""

import json
import pathlib

import netCDF4
import numpy as np

from climate import prepare, world
from climate.component import NOTHING, Listener, Source

EARTH = 6.371e6  # m
FILL = 1e20
SEA = "time: mean area: mean where sea"
HEAT = "surface_downward_heat_flux_in_sea_water"
ABOUT = {  # name: (standard name, units, long name, cell methods)
    "t_air": ("air_temperature", "degC", "temperature of the air", "time: mean"),
    "t_surface": ("surface_temperature", "degC", "temperature of land and sea", "time: mean"),
    "sun": ("toa_incoming_shortwave_flux", "W m-2", "sunlight above the air", "time: mean"),
    "olr": ("toa_outgoing_longwave_flux", "W m-2", "heat radiation to space", "time: mean"),
    "heat": (HEAT, "W m-2", "heat from the air, as the atmosphere gave it", SEA),
    "sst": ("sea_surface_temperature", "degC", "temperature of sea and ice", SEA),
    "ice": ("sea_ice_area_fraction", "1", "part that ice covers", SEA),
    "heat_in": (HEAT, "W m-2", "heat from the air, as the ocean got it", SEA),
}


class Book:
    """A file of monthly means on one grid; `shape` names its dimensions."""

    def __init__(self, path, title, shape, grid, area, month):
        self.file = netCDF4.Dataset(path, "w")
        self.shape, self.size, self.month, self.count = shape, len(area), month, 0
        self.file.setncatts(
            {
                "Conventions": "CF-1.8",
                "title": title,
                "source": "coupled demonstration of WaitIO: a toy model, no forecast",
                "history": "written by climate.output while the models ran",
            }
        )
        self.file.createDimension("time", None)
        self.file.createDimension("bounds", 2)
        time = self.variable("time", ("time",), units="days since 2001-01-01 00:00:00")
        time.setncatts({"calendar": "360_day", "standard_name": "time", "axis": "T"})
        time.bounds = "time_bounds"
        self.file.createVariable("time_bounds", "f8", ("time", "bounds"))
        self.place(grid)
        cell_area = self.variable(
            "cell_area",
            self.shape,
            units="m2",
            standard_name="cell_area",
            long_name="area of cells",
        )
        cell_area[:] = (area * EARTH**2).reshape(cell_area.shape)

    def variable(self, name, dimensions, fill=None, **about):
        made = self.file.createVariable(name, "f8", dimensions, fill_value=fill)
        made.setncatts(about)
        return made

    def axis(self, name, dimensions, values, bounds):
        units = {"lon": "degrees_east", "lat": "degrees_north"}[name]
        long_name = {"lon": "longitude", "lat": "latitude"}[name]
        made = self.variable(name, dimensions, units=units, standard_name=long_name)
        made.bounds = f"{name}_bounds"
        made[:] = values
        last = "bounds" if len(bounds[0]) == 2 else "corner"
        self.file.createVariable(f"{name}_bounds", "f8", (*dimensions, last))[:] = bounds

    def fields(self, names):
        for name in names:
            standard, units, long_name, methods = ABOUT[name]
            made = self.variable(name, ("time", *self.shape), FILL, standard_name=standard)
            made.setncatts({"units": units, "long_name": long_name, "cell_methods": methods})
            made.cell_measures = "area: cell_area"
            if len(self.shape) == 1:
                made.coordinates = "lat lon"

    def write(self, means, points):
        """Add a month: values at the points (from 0); elsewhere there is none."""
        k, self.count = self.count, self.count + 1
        self.file["time"][k] = (k + 0.5) * self.month
        self.file["time_bounds"][k] = k * self.month, (k + 1) * self.month
        for name, values in means.items():
            whole = np.full(self.size, FILL)
            whole[points] = np.where(values == NOTHING, FILL, values)
            self.file[name][k] = whole.reshape(self.file[name].shape[1:])

    def close(self):
        self.file.close()


class AirBook(Book):
    def place(self, grid):
        nx, ny = grid.dims
        self.file.createDimension("lat", ny)
        self.file.createDimension("lon", nx)
        east, north = 180 / nx, 90 / ny
        lon, lat = grid.lon[:nx], grid.lat[::nx]
        self.axis("lon", ("lon",), lon, np.column_stack([lon - east, lon + east]))
        self.axis("lat", ("lat",), lat, np.column_stack([lat - north, lat + north]))
        self.file["lon"].axis, self.file["lat"].axis = "X", "Y"


class SeaBook(Book):
    def place(self, grid):
        self.file.createDimension("cell", len(grid.lon))
        self.file.createDimension("corner", 4)
        self.axis("lon", ("cell",), grid.lon, grid.corner_lon)
        self.axis("lat", ("cell",), grid.lat, grid.corner_lat)


def main():
    plan = prepare.Plan(**json.loads(pathlib.Path("plan.json").read_text()))
    air, sea = world.Grid("air.nc"), world.Grid("sea.nc")
    air_area, sea_area = world.areas("air_sea.nc")
    points = {"air": np.arange(len(air.lon)), "sea": np.flatnonzero(sea.wet)}
    sources = [
        Source("atmos", "air", "air", prepare.OUTPUTS["atmos"]),
        Source("ocean", "sea", "sea", prepare.OUTPUTS["ocean"]),
    ]
    grids = {name: (where + 1).astype(np.int32) for name, where in points.items()}
    listener = Listener("output", grids, sources, plan.month)
    books = {
        "atmos": AirBook(
            "atmos.nc", "Atmosphere, monthly means", ("lat", "lon"), air, air_area, plan.month
        ),
        "ocean": SeaBook("ocean.nc", "Ocean, monthly means", ("cell",), sea, sea_area, plan.month),
    }
    for who, book in books.items():
        book.fields(prepare.OUTPUTS[who])
    for _ in range(plan.days // plan.month):
        got = listener.next()
        for source in sources:
            books[source.component].write(got[source.component], points[source.own_grid])
    for book in books.values():
        book.close()
    listener.end()


if __name__ == "__main__":
    main()
