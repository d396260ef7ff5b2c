"""BIF files are read and written without loss, and errors say where."""

import gzip
import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sdi import networks
from sdi.formats.bif import BifError, Network, Variable, format_bif, parse_bif, read_bif, write_bif

# nodes and arcs as the repository counts them
SIZES = {
    "alarm": (37, 46), "andes": (223, 338), "asia": (8, 8), "barley": (48, 84), "cancer": (5, 4), "child": (20, 25),
    "diabetes": (413, 602), "earthquake": (5, 4), "hailfinder": (56, 66), "hepar2": (70, 123), "insurance": (27, 52),
    "link": (724, 1125), "mildew": (35, 46), "munin": (1041, 1397), "munin1": (186, 273), "munin2": (1003, 1244),
    "munin3": (1041, 1306), "munin4": (1038, 1388), "pathfinder": (109, 195), "pigs": (441, 592), "sachs": (11, 17),
    "survey": (6, 6), "water": (32, 66), "win95pts": (76, 112),
}  # fmt: skip

SMALL = """\
network small {
}
variable a {
  type discrete [ 2 ] { yes, no };
}
variable b {
  type discrete [ 3 ] { low, mid, high };
}
probability ( a ) {
  table 0.25, 0.75;
}
probability ( b | a ) {
  (yes) 0.5, 0.25, 0.25;
  (no) 0.125, 0.125, 0.75;
}
"""


def repository(name: str) -> Path:
    spec = importlib.util.find_spec("pgmpy")  # found without being imported
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "utils" / "example_models" / f"{name}.bif.gz"


def exact(network: Network) -> object:
    """All there is to a network, as something that `==` compares to the last bit."""
    variables = [(*v[:3], v.table.dtype.str, v.table.shape, v.table.tobytes(), *v[4:]) for v in network.variables]
    return network.name, variables, network.properties


def changed(old: str, new: str) -> str:
    assert SMALL.count(old) == 1
    return SMALL.replace(old, new)


@pytest.mark.parametrize("name", SIZES)
def test_a_network_of_the_repository_is_read_and_written_without_loss(name: str) -> None:
    network = read_bif(repository(name))
    assert (len(network.variables), sum(len(v.parents) for v in network.variables)) == SIZES[name]
    assert exact(parse_bif(format_bif(network))) == exact(network)


@pytest.mark.parametrize("name", ["asia", "sachs", "alarm", "child", "hailfinder"])
def test_pgmpy_reads_the_same_networks_in_our_files_too(name: str, tmp_path: Path) -> None:
    from pgmpy.readwrite import BIFReader

    network = read_bif(repository(name))
    write_bif(tmp_path / "ours.bif", network)
    (tmp_path / "theirs.bif").write_bytes(gzip.decompress(repository(name).read_bytes()))
    for file in ("theirs.bif", "ours.bif"):
        model = BIFReader(str(tmp_path / file)).get_model()
        assert set(model.nodes()) == {v.name for v in network.variables}
        for variable in network.variables:
            cpd = model.get_cpds(variable.name)
            order = [*variable.parents, variable.name]
            assert sorted(cpd.variables) == sorted(order)
            assert tuple(cpd.state_names[variable.name]) == variable.states
            table = cpd.values.transpose([cpd.variables.index(each) for each in order])
            np.testing.assert_array_equal(variable.table, table, strict=True)


@pytest.mark.parametrize("name", ["asia", "sachs", "alarm", "hailfinder"])
def test_pyagrum_reads_the_same_networks_in_our_files_too(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the import warns from C, and crashes where that warning is an error
        import pyagrum

    network = read_bif(repository(name))
    write_bif(tmp_path / "ours.bif", network)
    (tmp_path / "theirs.bif").write_bytes(gzip.decompress(repository(name).read_bytes()))
    for file in ("theirs.bif", "ours.bif"):
        model = pyagrum.loadBN(str(tmp_path / file))
        assert model.names() == {v.name for v in network.variables}
        for variable in network.variables:
            cpt = model.cpt(variable.name)
            axes = list(reversed(cpt.names))  # its arrays run through the variables backwards
            assert model.variable(variable.name).labels() == variable.states
            table = cpt.toarray().transpose([axes.index(each) for each in (*variable.parents, variable.name)])
            np.testing.assert_allclose(variable.table, table, rtol=1e-6)  # it reads single precision


def test_the_axes_of_a_table_are_the_parents_in_order_and_then_the_variable() -> None:
    dysp = next(v for v in networks.load("asia").variables if v.name == "dysp")
    assert dysp.parents == ("bronc", "either")
    assert dysp.states == ("yes", "no")
    # given bronchitis alone (yes, no) 0.8, given the other disease alone (no, yes) 0.7
    assert dysp.table.tolist() == [[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]]


@pytest.mark.parametrize(
    "block",
    [
        "(no) 0.125, 0.125, 0.75; (yes) 0.5, 0.25, 0.25;",
        "(yes) .5 25e-2 +0.25; (no) 0.125 0.125 7.5E-1;",
        "(yes) 0.5, /* 0.9; */ 0.25, // 0.8;\n 0.25; (no) 0.125, 0.125, 0.75;",
        "default 0.125, 0.125, 0.75; (yes) 0.5, 0.25, 0.25;",
        "(yes) 0.5, 0.25, 0.25; (no) 0.125, 0.125, 0.75; default 1, 0, 0;",
        "table 0.5, 0.125, 0.25, 0.125, 0.25, 0.75;",
        '("yes")0.5,0.25,0.25;("no")0.125,0.125,0.75;',
    ],
)
def test_all_ways_to_write_a_table_mean_the_same(block: str) -> None:
    start = SMALL.index("  (yes)")
    assert exact(parse_bif(f"{SMALL[:start]}{block} }}")) == exact(parse_bif(SMALL))


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace("\n", "\r\n"),
        "\ufeff" + SMALL,
        SMALL.replace("\n", " "),
        "// first\n/* second\n * third **/" + SMALL + "// last",
        SMALL.replace(",", " ").replace(" [ ", "[").replace("b | a", "b a"),
        SMALL.replace("small", '"small"').replace(" a ", ' "a" ').replace("low", '"low"'),
    ],
    ids=["crlf", "bom", "one line", "comments", "bare commas", "quotes"],
)
def test_layout_does_not_matter(text: str) -> None:
    assert exact(parse_bif(text)) == exact(parse_bif(SMALL))


def test_probabilities_may_come_before_the_variables() -> None:
    declarations, tables = SMALL.index("variable a"), SMALL.index("probability ( a )")
    text = SMALL[:declarations] + SMALL[tables:] + SMALL[declarations:tables]
    assert exact(parse_bif(text)) == exact(parse_bif(SMALL))


def test_odd_bare_words_are_names() -> None:
    states = ("<5", "12+", "Asy/Patch", ">=7.5", "0-3_days", "Transp.", "table", "1e-3", "ä", "x=y", "a\\n")
    text = f"network n {{}} variable table {{ type discrete [ {len(states)} ] {{ {', '.join(states)} }}; }}"
    network = parse_bif(f"{text} probability ( table ) {{ default 1{', 0' * (len(states) - 1)}; }}")
    assert network.variables[0].states == states
    assert exact(parse_bif(format_bif(network))) == exact(network)


def test_properties_are_kept_as_they_stand_and_written_back() -> None:
    text = changed("small {", 'small {\n property "credal 1.1" ;').replace(
        "variable b {", "variable b {\n  property  position = (73, 165)  ;\n property url http://x.org/*;"
    )
    text = text.replace("high };", 'high };\nproperty says "a; b" ;').replace(
        "( b | a ) {", "( b | a ) { property last;"
    )
    network = parse_bif(text)
    assert network.properties == ('"credal 1.1"',)
    assert network.variables[0].properties == ()
    assert network.variables[1].properties == ("position = (73, 165)", "url http://x.org/*", 'says "a; b"', "last")
    assert exact(parse_bif(format_bif(network))) == exact(network)


@pytest.mark.parametrize(
    "row",
    [
        [0.333, 0.333, 0.333],
        [0.3333, 0.3333, 0.3333],
        [0.3333333, 0.3333333, 0.3333333],
        [0.499, 0.499, 0.0],
        [0.334, 0.334, 0.334],
    ],
    ids=["three decimals", "four decimals", "seven decimals", "least", "most"],
)
def test_a_rounded_row_is_read_and_written_as_it_stands(row: list[float]) -> None:
    network = parse_bif(changed("0.5, 0.25, 0.25", ", ".join(map(str, row))))
    assert network.variables[1].table[0].tolist() == row
    assert exact(parse_bif(format_bif(network))) == exact(network)


HOSTILE = st.one_of(
    st.text(max_size=6),
    st.text(alphabet='"\\{}()[]|,;/*<> \t\r\n\u2028\ufeff\x00na1', max_size=6),
    st.sampled_from(["<script>", "property", "table", "default", "// x", "/*", "*/", '\\"', "a\nb", "nan", "0.5", ""]),
)


@st.composite
def hostile_networks(draw: st.DrawFn) -> Network:
    names = draw(st.lists(HOSTILE, max_size=4, unique=True))
    variables: list[Variable] = []
    for name in names:
        states = tuple(draw(st.lists(HOSTILE, min_size=1, max_size=4, unique=True)))
        parents = draw(st.lists(st.sampled_from(variables), max_size=2, unique_by=id)) if variables else []
        shape = (*(len(parent.states) for parent in parents), len(states))
        seed = draw(st.integers(0, 2**32 - 1))
        table: NDArray[np.float64] = np.random.default_rng(seed).dirichlet([0.1] * shape[-1], shape[:-1])
        variables.append(Variable(name, states, tuple(parent.name for parent in parents), table, draw(PROPERTIES)))
    return Network(draw(HOSTILE), tuple(draw(st.permutations(variables))), draw(PROPERTIES))


PROPERTIES = st.lists(
    st.text(st.characters(exclude_characters='";\r\n', exclude_categories=("Cs",))).map(str.strip), max_size=2
).map(tuple)


@settings(deadline=None)
@given(hostile_networks())
def test_hostile_names_survive(network: Network) -> None:
    text = format_bif(network)
    assert exact(parse_bif(text)) == exact(network)
    assert exact(parse_bif(text.replace("\n", "\r\n"))) == exact(network)
    assert "\r" not in text  # or else a change of line ends would change a name


@settings(deadline=None)
@given(st.text(alphabet=' \n"\\/*{}()[]|,;ab10.e-', max_size=60), st.integers(0, len(SMALL)), st.integers(0, 20))
def test_damaged_text_gives_a_network_or_a_located_error(junk: str, start: int, length: int) -> None:
    text = SMALL[:start] + junk + SMALL[start + length :]
    try:
        network = parse_bif(text, "junk")
    except BifError as error:
        source, line, column, _ = str(error).split(":", 3)
        assert source == "junk"
        assert 1 <= int(line) <= text.count("\n") + 1
        assert 1 <= int(column) <= len(text.split("\n")[int(line) - 1]) + 1
    else:
        assert exact(parse_bif(format_bif(network))) == exact(network)


CYCLE = """network n {}
variable smoke { type discrete [ 1 ] { s }; }
variable lung { type discrete [ 1 ] { s }; }
variable other { type discrete [ 1 ] { s }; }
probability ( other | lung ) { (s) 1; }
probability ( lung | smoke ) { (s) 1; }
probability ( smoke | lung ) { (s) 1; }
"""
WIDE = "network n {}" + "".join(
    f" variable v{i} {{ type discrete [ 9 ] {{ 1 2 3 4 5 6 7 8 9 }}; }}\n"
    f"probability ( v{i}{''.join(f' v{j}' for j in range(i))} ) {{ default 1 0 0 0 0 0 0 0 0; }}"
    for i in range(9)
)

ERRORS = {
    "empty": ("", "1:1: expected 'network' at the start, found the end of the text"),
    "other format": ("<?xml?>", "1:1: expected 'network' at the start, found '<?xml?>'"),
    "no brace": (changed("variable a {", "variable a ;"), "3:12: expected '{' after variable name, found ';'"),
    "no name": (changed("variable a {", "variable {"), "3:10: expected a variable name, found '{'"),
    "stray word": (changed("variable a", "varable a"), "3:1: expected 'variable' or 'probability', found 'varable'"),
    "second network": (SMALL + "network x {}", "16:1: expected 'variable' or 'probability', found 'network'"),
    "unquoted brace": (SMALL + "}", "16:1: expected 'variable' or 'probability', found '}'"),
    "open comment": (SMALL + "  /* never\nclosed", "16:3: this comment is never closed"),
    "open string": (changed("{ yes", '{ "yes'), "4:25: this string is never closed"),
    "open property": (changed("small {", "small { property x"), "1:17: this property has no ';' on its line"),
    "open network": ("network x {", "1:12: expected '}' or 'property', found the end of the text"),
    "open variable": (changed("no };\n}", "no };\n"), "6:1: expected '}' or 'property', found 'variable'"),
    "open block": (SMALL.rstrip("}\n"), "14:27: expected 'table', 'default', '(', 'property' or '}', found the end"),
    "continuous": (changed("discrete [ 2", "real [ 2"), "4:8: expected 'discrete' after 'type', found 'real'"),
    "no type": (changed("type discrete [ 2 ] { yes, no };", ""), "5:1: expected 'type' of the variable, found '}'"),
    "no semicolon": (changed("no };", "no }"), "5:1: expected ';' after the states, found '}'"),
    "count is a word": (changed("[ 2 ]", "[ two ]"), "4:19: expected the number of states, found 'two'"),
    "count is wrong": (changed("[ 2 ]", "[ 3 ]"), "4:19: 'a' announces 3 states and lists 2 (yes, no); correct"),
    "space in state": (changed("yes, no }", "yes, not sure }"), "4:19: 'a' announces 2 states and lists 3 (yes, not,"),
    "no states": (changed("[ 2 ] { yes, no }", "[ 0 ] { }"), "4:19: 'a' announces 0 states and lists 0"),
    "same state": (changed("yes, no }", "yes, yes }"), "4:30: the state 'yes' is listed twice"),
    "same variable": (changed("variable b", "variable a"), "6:10: variable 'a' is declared twice"),
    "no block": (SMALL[: SMALL.index("probability ( b")], "6:10: variable 'b' has no probability block; add one"),
    "two blocks": (changed("( b | a )", "( a )"), "12:15: variable 'a' has two probability blocks; remove one"),
    "unknown variable": (SMALL + "probability ( c ) { }", "16:15: variable 'c' is not declared; add a variable block"),
    "unknown parent": (changed("| a )", "| c )"), "12:19: variable 'c' is not declared; add a variable block for it"),
    "same parent": (changed("| a )", "| a, a )"), "12:22: the parent 'a' is listed twice"),
    "joint": (changed("b | a", "b, a | a"), "12:20: expected a parent or ')', found '|'"),
    "cycle": (CYCLE, "7:15: the graph has a cycle: smoke -> lung -> smoke"),
    "own parent": (changed("( a )", "( a | a )"), "9:15: the graph has a cycle: a -> a"),
    "unknown state": (changed("(no)", "(maybe)"), "14:4: 'maybe' is not a state of 'a'; choose from yes, no"),
    "too many states": (changed("(no)", "(no, no)"), "14:3: expected 1 states, one for each of a; found 2"),
    "states of a root": (changed("table 0.25", "(yes) 0.25"), "10:3: expected 0 states, for there are no parents;"),
    "same row": (changed("(no)", "(yes)"), "14:3: the row of 'b' given a=yes is given twice"),
    "row and table": (
        changed("(no) 0.125", "table 1, 1, 0, 0, 0, 0; (no) 0.125"),
        "14:3: the row of 'b' given a=yes is given twice",
    ),
    "two tables": (changed("table 0.25, 0.75", "table 0, 1; table 0, 1"), "10:15: 'a' has a second 'table'; remove"),
    "missing row": (changed("  (no) 0.125, 0.125, 0.75;\n", ""), "12:15: no probabilities for 'b' given a=no; add"),
    "empty block": (changed("table 0.25, 0.75;", ""), "9:15: no probabilities for 'a'; add this row or a default"),
    "too few numbers": (changed("0.5, 0.25, 0.25", "0.5, 0.5"), "13:3: expected 3 probabilities for 'b', found 2"),
    "too many numbers": (changed("0.25, 0.75;", "0.25, 0.75, 0;"), "10:3: expected 2 probabilities for 'a', found 3"),
    "table too short": (changed("(yes) 0.5", "table 0.5"), "13:3: expected 6 probabilities for 'b', found 3"),
    "negative": (changed("0.5, 0.25, 0.25", "0.75, 0.5, -0.25"), "13:20: expected a probability or ';', found '-0.25'"),
    "not a number": (changed("0.5, 0.25", "nan, 0.25"), "13:9: expected a probability or ';', found 'nan'"),
    "infinite": (changed("0.5, 0.25", "0.5, inf"), "13:14: expected a probability or ';', found 'inf'"),
    "overflow": (changed("0.25, 0.75", "1e308, 1.7e308"), "10:3: the probabilities of 'a' add up to inf, expected 1"),
    "underscore": (changed("0.5, 0.25", "0.5, 0_25"), "13:14: expected a probability or ';', found '0_25'"),
    "two points": (changed("0.5, 0.25", "0.5.0, 0.25"), "13:9: expected a probability or ';', found '0.5.0'"),
    "quoted number": (changed("0.5, 0.25", '"0.5", 0.25'), "13:9: expected a probability or ';', found '\"0.5\"'"),
    "no end of row": (changed("0.25, 0.25;", "0.25, 0.25"), "14:3: expected a probability or ';', found '('"),
    "sum": (changed("0.125, 0.125", "0.125, 0.12"), "14:3: the probabilities of 'b' given a=no add up to 0.995"),
    "sum of a table": (
        changed("0.25, 0.75", "0.9 0.2"),
        "10:3: the probabilities of 'a' add up to 1.1, expected 1 within 0.002; correct this row",
    ),
    "just too little": (changed("0.25, 0.75", "0.25, 0.7479"), "10:3: the probabilities of 'a' add up to 0.9979,"),
    "just too much": (changed("0.25, 0.75", "0.25, 0.7521"), "10:3: the probabilities of 'a' add up to 1.0021,"),
    "sum of default": (changed("(no) 0.125", "default 0"), "14:3: the probabilities of 'b' given a=no add up to 0.875"),
    "two defaults": (changed("(no)", "default 1, 0, 0; default"), "14:20: 'b' has a second 'default'; remove one"),
    "too large": (WIDE, "9:15: 'v7' needs a table of 43046721 numbers, more than 16777216"),
    "crlf": (SMALL.replace("\n", "\r\n").replace("(no)", "(maybe)"), "14:4: 'maybe' is not a state of 'a'"),
    "after a comment": (changed("(no)", "/* two\nlines */ (maybe)"), "15:11: 'maybe' is not a state of 'a'"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS)
def test_an_error_says_where_and_what(text: str, message: str) -> None:
    with pytest.raises(BifError) as caught:
        parse_bif(text, "asia.bif")
    assert str(caught.value).startswith(f"asia.bif:{message}")


BAD_ROWS = np.array([[0.5, 0.25, 0.25], [np.nan, 0.5, 0.5]])
UNWRITABLE = {
    "shape": ({"table": np.ones((3, 2)) / 2}, r"the table of 'b' has the shape \(3, 2\), .* ask for \(2, 3\)"),
    "no states": ({"states": (), "table": np.ones((2, 0))}, r"the table of 'b' has the shape \(2, 0\)"),
    "sum": ({"table": np.ones((2, 3))}, r"the probabilities of 'b' given a=yes add up to 3, expected 1 within 0.002"),
    "nan": ({"table": BAD_ROWS}, r"the probabilities of 'b' given a=no must be numbers from 0 to 1, found nan"),
    "negative": ({"table": np.array([[1.0, 1.0, -1.0]] * 2)}, r"given a=yes must be numbers from 0 to 1, found -1"),
    "same name": ({"name": "a"}, r"the variable 'a' is listed twice"),
    "same state": ({"states": ("low", "mid", "low")}, r"the state of 'b' 'low' is listed twice"),
    "same parent": ({"parents": ("a", "a")}, r"the parent of 'b' 'a' is listed twice"),
    "unknown parent": ({"parents": ("c",)}, r"the parent 'c' of 'b' is not a variable"),
    "cycle": ({"parents": ("b",), "table": np.ones((3, 3)) / 3}, r"the graph has a cycle: b -> b"),
    "semicolon": ({"properties": ("x; y",)}, r"cannot write the property 'x; y': it needs .* a ';' only in quotes"),
    "open quote": ({"properties": ('5" wide',)}, r"cannot write the property '5\" wide'"),
    "two lines": ({"properties": ("x\ny",)}, r"cannot write the property 'x\\ny': it needs one line"),
    "old line end": ({"properties": ("x\ry",)}, r"cannot write the property 'x\\ry': it needs one line"),
    "blanks": ({"properties": (" x",)}, r"cannot write the property ' x'"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_could_not_be_read_back_is_not_written(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    a, b = parse_bif(SMALL).variables
    with pytest.raises(ValueError, match=message):
        write_bif(tmp_path / "out.bif", Network("n", (a, b._replace(**changes))))
    assert not (tmp_path / "out.bif").exists()


@pytest.mark.parametrize("name", ["net.bif", "net.bif.gz"])
def test_files_plain_and_compressed_hold_the_same_network_at_any_time(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = parse_bif(SMALL)
    write_bif(tmp_path / name, network)
    first = (tmp_path / name).read_bytes()
    assert first.startswith(b"\x1f\x8b") == name.endswith(".gz")
    assert exact(read_bif(str(tmp_path / name))) == exact(network)
    monkeypatch.setattr("time.time", lambda: 1e9)
    write_bif(str(tmp_path / name), network)
    assert (tmp_path / name).read_bytes() == first


def test_a_file_from_another_system_is_read(tmp_path: Path) -> None:
    (tmp_path / "net.bif").write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert exact(read_bif(tmp_path / "net.bif")) == exact(parse_bif(SMALL))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"network x {\n} // caf\xe9", "2:9: expected UTF-8 text, found the byte 0xe9; save the file as UTF-8"),
        (b"\xef\xbb\xbfnetwork \xff", "1:9: expected UTF-8 text, found the byte 0xff"),
        (gzip.compress(SMALL.encode(), mtime=0)[:-9], "1:1: broken gzip file"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff", "1:1: broken gzip file"),
        (b"\x1f\x8bplainly not", "1:1: broken gzip file"),
        (gzip.compress(b"network x\n;", mtime=0), "2:1: expected '{' after network name, found ';'"),
    ],
)
def test_a_broken_file_is_named_in_the_error(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "net.bif"
    path.write_bytes(content)
    with pytest.raises(BifError) as caught:
        read_bif(path)
    assert str(caught.value).startswith(f"{path}:{message}")


def test_the_networks_of_the_package_are_those_of_the_repository() -> None:
    assert networks.names() == ("alarm", "asia", "barley", "cancer", "earthquake", "sachs", "survey")
    for name in networks.names():
        assert exact(networks.load(name)) == exact(read_bif(repository(name)))


@pytest.mark.parametrize("name", ["asai", "", "../networks/asia", "Asia"])
def test_an_unknown_network_is_answered_with_the_choices(name: str) -> None:
    with pytest.raises(ValueError, match=r"^unknown network .*; choose from alarm, asia, barley, cancer, earthquake"):
        networks.load(name)


def test_the_readme_counts_nodes_arcs_and_parameters_right() -> None:
    lines = (Path(networks.__file__).parent / "README.md").read_text().splitlines()
    rows = {cells[0]: cells[1:4] for line in lines if len(cells := line.strip("| ").split(" | ")) == 5}
    for name in networks.names():
        variables = networks.load(name).variables
        free = sum(v.table.size - v.table.size // len(v.states) for v in variables)
        assert rows[name] == [str(len(variables)), str(sum(len(v.parents) for v in variables)), str(free)]
