#!/usr/bin/env bash
# In pypmml 1.5.8 a word in a DataField of type double is a missing value: the row is scored. PMML
# 4.4 has an invalid value for it, which by default ends in no result, and so it is in pypmml for an
# undeclared value of a field of strings. JPMML-Evaluator refuses both rows. Nothing is raised.
# What opdisc does: the page about exported cards says it; a card itself refuses such a row.
set -euo pipefail
command -v java > /dev/null || { echo "pypmml needs Java, which is not here" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pypmml==1.5.8 pandas==2.3.3 2> /dev/null
cat > "$folder/score.py" <<'PYTHON'
import math

from pypmml import Model

TEXT = """<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>
<DataDictionary>
<DataField name="age" optype="continuous" dataType="double"/>
<DataField name="smokes" optype="categorical" dataType="string">
<Value value="yes" property="valid"/><Value value="no" property="valid"/></DataField>
</DataDictionary>
<Scorecard functionName="regression" initialScore="7" useReasonCodes="false">
<MiningSchema><MiningField name="age"/><MiningField name="smokes"/></MiningSchema>
<Output><OutputField name="total" optype="continuous" dataType="double" feature="predictedValue"/>
</Output><Characteristics><Characteristic name="age">
<Attribute partialScore="5">
<SimplePredicate field="age" operator="greaterOrEqual" value="40"/></Attribute>
<Attribute partialScore="0"><True/></Attribute>
</Characteristic><Characteristic name="smokes">
<Attribute partialScore="3">
<SimplePredicate field="smokes" operator="equal" value="yes"/></Attribute>
<Attribute partialScore="0"><True/></Attribute>
</Characteristic></Characteristics></Scorecard></PMML>"""


def total(**row):
    try:
        found = model.predict(row)["total"]
    except Exception:
        return None
    return None if found is None or math.isnan(found) else found


model = Model.fromString(TEXT)
found = [total(age=age, smokes="yes") for age in (50.0, 30.0, "old")]
found.append(total(age=50.0, smokes="maybe"))
print("expected: 15, 10, and no total of an age that is a word, nor of an undeclared value")
print("seen:", found)
raise SystemExit(found != [15.0, 10.0, 10.0, None])
PYTHON
"$folder/venv/bin/python" "$folder/score.py"
