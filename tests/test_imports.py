"""What the package may import, load and open: one direction, no pickles, no network, and torch only when needed."""

import ast
import os
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import lexigraph

ROOT = Path(lexigraph.__file__).parent
ORDER = (  # a module may import only from its own group and those before it
    {"lexigraph", "errors", "memory", "stored", "compiled"},
    {"registry", "sections", "recipe", "run", "toml", "upgrades", "explain", "outputs", "locks", "checksums"},
    {"text", "words", "drawing"},
    {"statistical"},
    {"nn", "objectives"},
    {"weights"},
    {"models"},
    {"decoding"},
    {"latent"},
    {"abilities"},
    {"evaluation", "views", "exchange"},
    {"training"},
    {"starting"},
    {"preparation"},
    {"resuming"},
    {"api"},
    {"entry"},
    {"comparison", "searching", "understanding", "finetuned"},
    {"cli", "studio", "__main__"},
)
RANK = {name: rank for rank, group in enumerate(ORDER) for name in group}
FILES = {".".join(("lexigraph", *file.relative_to(ROOT).with_suffix("").parts)): file for file in ROOT.rglob("*.py")}


@cache
def tree(module):
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


def imports(module):
    """Every module that this one imports, wherever the import stands, but not for type checking only."""
    found = set()

    def visit(node):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively in line {node.lineno}"
            source = node.module or ""
            inside = {f"{source}.{alias.name}" for alias in node.names} & FILES.keys()
            found.update(inside or {source})
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(tree(module))
    return found


def part(module):
    """`lexigraph.text.readers` belongs to `text`."""
    names = [name for name in module.split(".") if name != "__init__"]
    return names[1] if len(names) > 1 else "lexigraph"


def test_every_module_has_its_place_in_the_order():
    assert {part(module) for module in FILES} <= RANK.keys()


@pytest.mark.parametrize("module", sorted(FILES))
def test_modules_import_one_way_only(module):
    own = {name for name in imports(module) if name.split(".")[0] == "lexigraph"}
    late = {name for name in own if RANK[part(name)] > RANK[part(module)]}
    assert late == set()


def test_no_two_modules_need_each_other():
    own = {name: {i for i in imports(name) if i in FILES} - {name} for name in FILES}
    order = list(TopologicalSorter(own).static_order())  # raises CycleError and names the cycle
    assert set(order) == set(FILES)


RUNTIME = {  # training and decoding run on a bare GPU image
    *(
        "torch",
        "numpy",
        "numba",
        "llvmlite",
        "scipy",
        "sklearn",
        "tokenizers",
        "safetensors",
        "jaxtyping",
        "rich",
        "typer",
    ),
    *("pyarrow", "sacrebleu", "tensorboard", "matplotlib", "PIL", "lexigraph"),
}


@pytest.mark.parametrize("module", sorted(name for name in FILES if part(name) != "studio"))
def test_only_the_listed_libraries_are_needed_at_run_time(module):
    allowed = RUNTIME | sys.stdlib_module_names | {"faiss"}  # faiss: only when it is installed
    assert {name.split(".")[0] for name in imports(module)} <= allowed


@pytest.mark.parametrize("module", sorted(FILES))
def test_nothing_is_pickled(module):
    forbidden = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
    assert {name.split(".")[0] for name in imports(module)}.isdisjoint(forbidden)
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            assert name not in ("torch.load", "torch.save", "torch.package"), f"line {node.lineno}"
            gathers = ("all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list")
            assert node.attr not in gathers, f"line {node.lineno}"
        if isinstance(node, ast.keyword):
            assert node.arg != "allow_pickle" or ast.unparse(node.value) == "False", f"line {node.value.lineno}"


# ---- what is loaded, and when ----

HEAVY = ("torch", "numpy", "scipy", "sklearn", "tokenizers", "matplotlib")


@pytest.mark.parametrize(
    "code",
    [
        "import lexigraph; dir(lexigraph)",
        "import sys; sys.argv = ['lexigraph', '--help']; from lexigraph.cli import main; main()",
        "import sys; sys.argv = ['lexigraph', 'train', '--help']; from lexigraph.cli import main; main()",
        "import sys; sys.argv = ['lexigraph', '--version']; from lexigraph.cli import main; main()",
    ],
    ids=["import", "help", "train-help", "version"],
)
def test_looking_costs_nothing(code):
    report = f"import atexit, sys; atexit.register(lambda: print('loaded', *(set(sys.modules) & set({HEAVY}))))\n"
    done = subprocess.run([sys.executable, "-c", report + code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].split() == ["loaded"]


def test_using_a_model_loads_no_training_code():
    rooms = sorted(name for name in FILES if part(name) in ("abilities", "decoding", "latent", "models", "weights"))
    code = f"import importlib, sys; [importlib.import_module(name) for name in {rooms}]"
    code += "; print('loaded', *(name for name in sys.modules if name.startswith('lexigraph.training')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["loaded"]
    assert "lexigraph.abilities.textmodel" in rooms


def test_using_a_model_does_not_wait_for_torchs_compiler(tiny_runs):
    runs = [str(tiny_runs(name)) for name in ("gpt", "picture")]
    code = (
        f"import sys, lexigraph; a, b = map(lexigraph.load, {runs}); a.score('She sings .'); b.encode('She sings .')"
    )
    code += "; print('loaded', *({'torch._dynamo'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["loaded"]


def test_the_public_names_are_there_and_no_others():
    for name in lexigraph.__all__:
        assert getattr(lexigraph, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        lexigraph.nonsense  # noqa: B018
    assert set(dir(lexigraph)) == set(lexigraph.__all__)


# ---- offline ----

_watching: list[list[str]] = []


def _watch(event: str, arguments: tuple) -> None:
    if _watching and event in ("socket.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo"):
        _watching[-1].append(f"{event} {arguments[1:]}")


sys.addaudithook(_watch)  # it sees sockets that C code opens through Python too, and cannot be removed


def test_the_watch_sees_sockets():
    import socket

    _watching.append(seen := [])
    try:
        socket.socket().close()
    finally:
        _watching.pop()
    assert seen


def test_training_generating_and_evaluating_open_no_socket(tmp_path):
    from lexigraph import api

    _watching.append(seen := [])
    try:
        text = tmp_path / "text.txt"
        text.write_text("the cat sat .\n" * 9)
        changes = {"train.tensorboard": True}
        model = api.train("gpt", data="grammar", out=tmp_path / "run", tiny=True, quiet=True, set=changes)
        model.generate(["the"], max_new=2)
        api.evaluate(tmp_path / "run", text)
    finally:
        _watching.pop()
    assert seen == []
    assert os.listdir(tmp_path / "run" / "tensorboard")
