"""Checks a document against a schema, and prints what breaks it. Usage: schema.py SCHEMA DOCUMENT"""

import json
import sys

import jsonschema

schema, document = (json.load(open(path)) for path in sys.argv[1:])
validator = jsonschema.validators.validator_for(schema)
validator.check_schema(schema)
for error in validator(schema).iter_errors(document):
    print(f"{error.json_path}: {error.message[:200]}")
