"""Describe a dataset in croissant.json (Croissant 1.1), so that catalogues and `mlcroissant` can read it.

The description follows from the manifest and the columns of a shard, so equal runs write equal bytes. It has no `url`, `creator`
or `datePublished`, which only the publisher knows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..config.input_kinds import ONE_OF
from ..storage.files import json_text, open_file
from .manifest_records import CorpusInfo, File, Input
from .manifest_types import CorpusManifest, Manifest, PairsManifest

__all__ = ["columns", "text"]

_MAX_INPUTS = 1000  # inputs to name; the manifest names all
_CROISSANT_TERMS = (  # of Croissant's own vocabulary
    *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileObject", "fileProperty"),
    *("fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet"),
    *("references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: {"@container": "@language"} for name in ("description", "name")},
    **{term: f"cr:{term}" for term in _CROISSANT_TERMS},
}
_DATA_TYPES = {"string": "sc:Text", "bool": "sc:Boolean", "binary": "sc:Text", "double": "sc:Float", "float": "sc:Float"}
_MEDIA_TYPES = {  # by suffix; mlcroissant loads the first three
    "parquet": "application/x-parquet",
    "jsonl": "application/jsonlines",
    "json": "application/json",
    "txt": "text/plain",
    "arrow": "application/vnd.apache.arrow.stream",
}
_COMMANDS = {"documents": "build-corpus", "pairs": "make-pairs", "export": "export"}
_DESCRIPTIONS = {
    "documents": "Documents as lists of sentences, for pretraining language models.",
    "pairs": "Rows of token ids, for pretraining masked language models.",
    "export": "Training data in the format of another trainer.",
}

Columns = dict[str, tuple[str, bool]]  # name: type, and whether each value is a list


def columns(root: Path, manifest: Manifest) -> Columns:
    """Read the columns of a dataset's shards from the first shard with rows. Empty for formats that have no columns."""
    name = next(shard.name for shard in manifest.shards if shard.rows)
    if name.endswith(".jsonl"):
        with open_file(root / name) as file:
            return dict.fromkeys(json.loads(file.readline()), ("sc:Text", False))
    if not name.endswith((".arrow", ".parquet")):
        return {}
    from .shards import read_batches  # pyarrow, which readers of manifests do not need

    format = "parquet" if name.endswith(".parquet") else manifest.config["format"]
    schema = next(read_batches(root / name, format)).schema
    found = {}
    for column in schema:
        is_list = hasattr(column.type, "value_type")
        kind = str(column.type.value_type if is_list else column.type)
        found[column.name] = (_DATA_TYPES.get(kind) or kind.replace("uint", "cr:UInt").replace("int", "cr:Int"), is_list)
    return found


def text(manifest: Manifest, of_shards: Columns) -> str:
    """Return the text of croissant.json for a corpus, rows or an export with these columns."""
    suffix = manifest.shards[0].name.rpartition(".")[2]
    media = _media_type(manifest.shards[0].name, manifest.config)
    prefixes = sorted({shard.name.rpartition("/")[2].partition("-")[0] for shard in manifest.shards})
    sets = {prefix: f"data/{prefix}-*.{suffix}" for prefix in prefixes} if of_shards else {}
    described = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": f"bertdata-{manifest.kind}",
        "description": f"{_DESCRIPTIONS[manifest.kind]} {manifest.rows:,} rows. manifest.json has all counts and settings.",
        "license": _licences(manifest),
        "inLanguage": _languages(manifest),
        "distribution": [
            *(_file(shard, media) for shard in manifest.shards),
            *(_file(file, _media_type(file.name, {})) for file in getattr(manifest, "files", ())),
            *(
                {"@type": "cr:FileSet", "@id": name, "name": name, "encodingFormat": media, "includes": pattern}
                for name, pattern in sets.items()
            ),
        ],
        "recordSet": [_record_set(name, of_shards, manifest) for name in sets],
        "prov:wasGeneratedBy": _activity(manifest),
    }
    return json_text({key: value for key, value in described.items() if value != []})


def _media_type(name: str, config: dict[str, object]) -> str:
    media = _MEDIA_TYPES.get(name.rpartition(".")[2], "application/octet-stream")
    return media.replace("stream", "file") if config.get("format") == "arrow-file" else media


def _file(file: File, media: str) -> dict[str, object]:
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "contentUrl": file.name,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": media,
        "sha256": file.sha256,
    }


def _record_set(name: str, of_shards: Columns, manifest: Manifest) -> dict[str, object]:
    """Describe the rows of a split."""
    rows = sum(shard.rows for shard in manifest.shards if shard.name.startswith(f"data/{name}-"))
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}-rows/{column}",
            "name": column,
            "dataType": kind,
            **({"isArray": True, "arrayShape": "-1"} if is_list else {}),
            "source": {"fileSet": {"@id": name}, "extract": {"column": column}},
        }
        for column, (kind, is_list) in of_shards.items()
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": f"{name}-rows",
        "name": f"{name}-rows",
        "description": f"{rows} rows",
        "field": fields,
    }


def _licences(manifest: Manifest) -> list[str]:
    """Return the licences of the corpus' inputs, each once."""
    inputs: Sequence[Input] = manifest.inputs
    if isinstance(manifest, PairsManifest) and manifest.corpus:
        inputs = manifest.corpus.inputs
    return sorted({name for entry in inputs for name in entry.licence.removeprefix(ONE_OF).split("; ")} - {""})


def _languages(manifest: Manifest) -> list[str]:
    """Return the languages of the documents. An export does not record them."""
    of_documents = manifest.corpus if isinstance(manifest, PairsManifest) else manifest
    sources = of_documents.sources if isinstance(of_documents, CorpusManifest | CorpusInfo) else {}
    return sorted({language for source in sources.values() for language in source.languages or () if language != "und"})


def _activity(manifest: Manifest) -> dict[str, object]:
    """Describe the run: the command with its settings, the versions, and the inputs with their digests."""
    settings = json.dumps(manifest.config, ensure_ascii=False, separators=(",", ":"))
    return {
        "@type": "prov:Activity",
        "prov:label": f"bertdata {_COMMANDS[manifest.kind]}",
        "prov:qualifiedAssociation": {
            "@type": "prov:Association",
            "prov:agent": {
                "@type": "prov:SoftwareAgent",
                "prov:label": ", ".join(f"{package} {version}" for package, version in manifest.versions.items()),
            },
            "prov:hadPlan": {"@type": "prov:Plan", "prov:value": settings},
        },
        "prov:used": [
            {"@type": "prov:Entity", "prov:label": entry.name, **({"sha256": entry.sha256} if entry.sha256 else {})}
            for entry in manifest.inputs[:_MAX_INPUTS]
        ],
    }
