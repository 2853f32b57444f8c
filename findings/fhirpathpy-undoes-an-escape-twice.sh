#!/usr/bin/env bash
# fhirpathpy 2.2.4 undoes the escapes of a FHIRPath text one kind after the other over the whole text, the backslash
# among them: an escaped backslash before the letter n is a backslash and a line break, before t a tab. Nothing is raised.
# Expected, by the grammar of FHIRPath (an escape is read once, from left to right), is the backslash and the letter.
# Met here: the answer of an exported questionnaire is such a text, and a label with a backslash came back as another.
# What opdisc does: it refuses to write a questionnaire where a label has a backslash.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q fhirpathpy==2.2.4
cat > "$folder/escape.py" <<'PYTHON'
from importlib.metadata import version

from fhirpathpy import evaluate

TEXTS = {r"'a\\n'": r"a\n", r"'\\t'": r"\t", r"'a\\b'": r"a\b", r"'a\'b'": "a'b", r"'a\nb'": "a\nb"}
seen = {text: evaluate({}, text, {})[0] for text in TEXTS}
print("fhirpathpy", version("fhirpathpy"))
for text, expected in TEXTS.items():
    print(f"{text}: expected {expected!r}, seen {seen[text]!r}")
wrong = {text: said for text, said in seen.items() if said != TEXTS[text]}
raise SystemExit(wrong != {r"'a\\n'": "a\\\n", r"'\\t'": "\\\t"})
PYTHON
"$folder/venv/bin/python" "$folder/escape.py"
