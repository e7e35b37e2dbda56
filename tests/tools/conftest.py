"""Tests of the tools that judge the tree."""

import importlib.machinery
import importlib.util
import pathlib

import pytest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"


@pytest.fixture
def tool(monkeypatch):
    """tool(name): the program as a module. It has no ending that Python knows."""
    monkeypatch.setattr("sys.dont_write_bytecode", True)

    def load(name):
        loader = importlib.machinery.SourceFileLoader(name, str(TOOLS / name))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
        loader.exec_module(module)
        return module

    return load
