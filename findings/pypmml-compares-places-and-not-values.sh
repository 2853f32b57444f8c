#!/usr/bin/env bash
# In pypmml 1.5.8 a categorical DataField of type double that lists its values 1 and 0 compares the
# place in that list: "equal 1" is true of 0 and false of 1. With the values listed as strings it is
# true of "1". A good guess, and PMML 4.4, has both say the same. Nothing is raised.
# What opdisc does: yes/no columns of an exported card are strings.
set -euo pipefail
command -v java > /dev/null || { echo "pypmml needs Java, which is not here" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pypmml==1.5.8 pandas==2.3.3 2> /dev/null
cat > "$folder/score.py" <<'PYTHON'
from pypmml import Model

TEXT = """<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>
<DataDictionary><DataField name="x" optype="categorical" dataType="{kind}">
<Value value="1"/><Value value="0"/></DataField></DataDictionary>
<Scorecard functionName="regression" initialScore="0" useReasonCodes="false">
<MiningSchema><MiningField name="x"/></MiningSchema>
<Output><OutputField name="total" optype="continuous" dataType="double" feature="predictedValue"/>
</Output><Characteristics><Characteristic name="x">
<Attribute partialScore="5"><SimplePredicate field="x" operator="equal" value="1"/></Attribute>
<Attribute partialScore="0"><True/></Attribute>
</Characteristic></Characteristics></Scorecard></PMML>"""

found = {}
for kind, cells in (("double", (1.0, 0.0)), ("string", ("1", "0"))):
    model = Model.fromString(TEXT.format(kind=kind))
    found[kind] = [model.predict({"x": cell})["total"] for cell in cells]
print("expected: 5 points for 1 and none for 0, of both types")
print("seen:", found)
raise SystemExit(found != {"double": [0.0, 5.0], "string": [5.0, 0.0]})
PYTHON
"$folder/venv/bin/python" "$folder/score.py"
