from tests.commands.conftest import run

__all__ = ["run"]
