"""The rule names_in_docs of tools/tidy: what a page names must be there."""

import pytest

CODE = '''
// A comment names forgotten() and Ghost.
namespace ebb::gate {
class Clients {
 public:
  void accept(int descriptor);
};
inline void greet(Clients& clients) { clients.accept(REFUSED); }
inline const char* metric = "ebbgate_requests";
}
'''
LIFE = "docs/life-of-a-connection.md"


@pytest.fixture
def complaints(tool, tmp_path, monkeypatch):
    """complaints(text, page): what the rule says of a page in a tree of one source."""
    tidy = tool("tidy")
    monkeypatch.setattr(tidy, "ROOT", tmp_path)
    (tmp_path / "src" / "gate").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "src" / "gate" / "clients.h").write_text(CODE)

    def check(text, page=LIFE):
        (tmp_path / page).write_text(text)
        return [complaint.split(": ", 1)[1] for complaint in tidy.names_in_docs(["src/gate/clients.h", page])]

    return check


@pytest.mark.parametrize("name", ["gate/clients.h", "gate/clients", "src/gate/clients.h", "src/gate/", "gate/", "Clients", "Clients::accept",
                                  "Clients::accept(descriptor)", "gate::greet", "greet()", "greet", "ebbgate_requests_total", "clients.h",
                                  "http/1.1", "--flag", "key: value"])
def test_names_that_are_there_pass(complaints, name):
    assert complaints(f"See `{name}` for this.\n") == []


@pytest.mark.parametrize("name", ["gate/servers.h", "gate/servers", "src/gate/servers.cc", "gate/clients/more"])
@pytest.mark.parametrize("page", [LIFE, "docs/http1.md", "README.md"])
def test_files_that_are_not_there_are_named_on_every_page(complaints, name, page):
    assert f"names {name}, which is not there" in complaints(f"first\nSee `{name}`.\n", page)


@pytest.mark.parametrize("name", ["Clients::forget", "Ghost", "Ghost::accept", "forgotten()", "Clients()", "gate::Ghost", "ebbgate_answers_total",
                                  "servers.h", "STREAM"])
def test_symbols_that_are_not_there_are_named_on_the_page_of_the_life_alone(complaints, name):
    assert len(complaints(f"See `{name}`.\n")) == 1
    assert complaints(f"See `{name}`.\n", "docs/http1.md") == []


def test_drawings_of_the_life_name_files(complaints):
    assert complaints("```\n gate/clients ─▶ gate/servers\n```\n") == ["names gate/servers, which is not there"]


def test_the_walk_names_a_file_in_each_step(complaints):
    assert complaints("## The walk\n1. `gate/clients` accepts.\n## Next\n1. Then.\n") == []
    assert complaints("## The walk\n1. `gate/clients` accepts.\n2. It ends.\n") == ["a step of the walk names no file"]
    assert complaints("## The walk\nNothing.\n") == ["the walk has no steps"]
    assert complaints("## The walk\n1. `gate/servers` accepts.\n")[0] == "names gate/servers, which is not there"
