"""Writing a questionnaire as YAML, so that reading it gives the same form."""

from __future__ import annotations

from functools import cache
from typing import Any

from deniable.errors import QuestionnaireError
from deniable.formats.extras import lacking
from deniable.questionnaire.reading import FRACTION, INTEGER, NO_NUMBER, WORDS


def yaml_text(form: Any) -> str:
    """Return the YAML text of a plain form: fields in their order, every script as it is."""
    try:
        import yaml
    except ImportError:
        raise QuestionnaireError(f"{lacking('Questionnaires in YAML need', 'forms')}.") from None
    text: str = yaml.dump(
        form, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=100, indent=2
    )
    return text


@cache
def _dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]
        """Writes texts in quotes where a reader would take them for something else."""

        def ignore_aliases(self, data: Any) -> bool:
            """Write what is shared wherever it is: an alias is harder to read."""
            return True

    def text(dumper: Any, words: str) -> Any:
        is_other = words in WORDS or any(
            pattern.fullmatch(words) for pattern in (INTEGER, FRACTION, NO_NUMBER)
        )
        style = "'" if is_other else "|" if "\n" in words else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", words, style=style)

    Dumper.add_representer(str, text)
    return Dumper
