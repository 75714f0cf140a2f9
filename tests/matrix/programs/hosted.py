"""Runs the steps in a .NET that Python hosts. Arguments: the runtime, its configuration."""

import sys
import warnings

warnings.simplefilter("ignore")
from pythonnet import load

if sys.argv[1] == "mono":
    load("mono")
else:
    load("coreclr", runtime_config=sys.argv[2])
import clr

sys.path.append(".")
clr.AddReference("Steps")
from Steps import Work

Work.Run(1000)
print("steps", Work.Taken, flush=True)
if sys.argv[3:] == ["exit"]:
    import os

    os._exit(3)
