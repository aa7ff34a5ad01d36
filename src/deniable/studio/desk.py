"""What the operator does in the studio: each thing is a file, and a command that does the same."""

from __future__ import annotations

import threading
from typing import Any

from deniable.errors import SurveyError
from deniable.questionnaire.questionnaire import Questionnaire
from deniable.studio import children, deploying, importing, reading, trials
from deniable.studio.deeds import Deeds, command
from deniable.studio.designs import Design, forecast, needs, planning_command
from deniable.studio.drafts import Draft, Drafts
from deniable.studio.folder import Folder
from deniable.studio.freezing import FrozenSurveys, check_name, freeze, freezing_command
from deniable.studio.problems import StudioProblem
from deniable.studio.stage import Stage

Form = dict[str, Any]


class Desk:
    """A folder, and all that can be done in it; each method takes and returns a JSON form."""

    def __init__(self, folder: Folder, stage: Stage) -> None:
        self.drafts = Drafts(folder)
        self._folder, self._stage = folder, stage
        self._surveys = FrozenSurveys(folder)
        self._collector = children.LocalCollector(folder)
        self._deeds = Deeds()
        self._lock, self._reading = threading.RLock(), threading.Lock()

    def close(self) -> None:
        """End what runs."""
        self._collector.stop()

    def state(self, _body: Form) -> Form:
        """Return all that the page begins with."""
        with self._lock:
            return {
                "folder": str(self._folder.root),
                "draft": self.drafts.current().to_json(),
                "surveys": self._surveys.to_json(),
                "free_name": self._surveys.free_name(),
                "deeds": self._deeds.to_json(),
                "collecting": self._collector.to_json(),
            }

    # Write

    def save(self, body: Form) -> Form:
        """Save the questionnaire, from its form or its text."""
        with self._lock:
            text = body.get("text")
            if text is not None and not isinstance(text, str):
                raise StudioProblem("malformed", "A text is a text.")
            draft = Draft.of_form(body.get("form")) if text is None else Draft.of_text(text)
            files = self.drafts.save(draft, body.get("revision"))
            self._note_draft(draft, files)
            return self._with_deeds(draft.to_json())

    def _note_draft(self, draft: Draft, files: tuple[str, ...]) -> None:
        if draft.questionnaire is None:
            self._deeds.add("Saved the draft, which is not whole yet.", files)
        else:
            self._deeds.add("Saved the questionnaire.", files)

    def take_over(self, body: Form) -> Form:
        """Put a questionnaire that somebody has in the place of this one."""
        name, data = importing.content_of(body)
        form, rows = importing.form_of(name, data)
        with self._lock:
            draft, files = self.drafts.replace(form)
            commands = [importing.importing_command(name)] if draft.questionnaire else []
            self._deeds.add("Imported a questionnaire.", files, commands)
            return self._with_deeds(draft.to_json() | {"rows": rows})

    # Design

    def _design(self, body: Form) -> Design:
        """Return the design that is asked about: the questionnaire's, with what the sliders say."""
        questionnaire = self.drafts.questionnaire()
        form = questionnaire.to_form()
        own = body.get("design")
        if own is not None:
            form["design"] = own
            questionnaire = Questionnaire.of(form)  # a design is checked like any part of it
        return Design.of(questionnaire.schema, form.get("design", {}))

    def plan(self, body: Form) -> Form:
        """Return what a design would show, at once, and the command that says the same."""
        design = self._design(body)
        return forecast(design) | {"command": planning_command(design)}

    def needs(self, body: Form) -> Form:
        """Return how many people it takes."""
        return needs(self._design(body))

    # Try

    def try_out(self, body: Form) -> Form:
        """Ask made-up people, and show what would be read of them."""
        people, seed = body.get("people", 2000), body.get("seed", 1)
        if type(people) is not int or type(seed) is not int or not 0 <= seed < 1 << 31:
            raise StudioProblem("malformed", "People are a whole number.")
        with self._reading:
            result, commands = trials.trial(self._folder, self.drafts.questionnaire(), people, seed)
            files = [*trials.MADE_UP, trials.REPORTS, trials.TALLY]
            text = f"Tried it on {people:,} made-up people (SIMULATED)."
            self._deeds.add(text, files, [command(*words) for words in commands])
            return self._with_deeds(result)

    def report_trial(self, _body: Form) -> Form:
        """Make the whole report of the last trial."""
        with self._reading:
            result = reading.report_trial(self._folder)
            text = "Made the report of the trial (SIMULATED)."
            self._deeds.add(text, result["files"], result["commands"])
            return self._with_deeds(result | self._shown(result["report"]))

    # Freeze

    def freeze(self, body: Form) -> Form:
        """Freeze the questionnaire: from now on people may be asked."""
        name = check_name(body.get("name", self._surveys.free_name()))
        with self._lock:
            questionnaire = self._successor(body.get("follows"))
            survey, files = freeze(self._folder, questionnaire, name)
            self._deeds.add(f"Froze survey {survey.id[:8]}.", files, [freezing_command(name)])
            state = self.state({})
            return state | {"frozen": {"name": name, "id": survey.id}}

    def _successor(self, follows: object) -> Questionnaire:
        """Return the questionnaire, as one that replaces a survey, if it is to."""
        questionnaire = self.drafts.questionnaire()
        if follows in (None, questionnaire.follows):
            return questionnaire
        earlier = self._surveys.named(follows)
        draft = Draft.of_form(questionnaire.to_form() | {"follows": earlier.id})
        if draft.questionnaire is None:
            raise SurveyError(draft.flaw or "The questionnaire is not whole.")
        self._note_draft(draft, self.drafts.save(draft, self.drafts.current().revision))
        return draft.questionnaire

    # Collect

    def collect(self, body: Form) -> Form:
        """Start collecting on this machine."""
        survey, port = self._surveys.named(body.get("survey")), body.get("port", 0)
        if type(port) is not int or not (port == 0 or 1024 <= port < 1 << 16):
            raise StudioProblem("malformed", "A port is 0, or 1024 to 65535.")
        self._collector.start(survey, port)
        words = children.serve_words(survey.name, port)
        with self._lock:
            self._deeds.add(
                f"Started collecting for survey {survey.id[:8]}.",
                [f"{survey.name}.db"],
                [command(*words)],
            )
        return self.collecting({})

    def collecting(self, _body: Form) -> Form:
        """Return where is collected, and how many have answered."""
        return self._with_deeds({"collecting": self._collector.to_json()})

    def stop(self, _body: Form) -> Form:
        """Stop collecting; what was acknowledged is kept."""
        self._collector.stop()
        with self._lock:
            self._deeds.add("Stopped collecting.")
        return self.collecting({})

    def deploy(self, body: Form) -> Form:
        """Write what a server needs."""
        survey = self._surveys.named(body.get("survey"))
        address = deploying.check_address(body.get("address"))
        link = deploying.link_of(survey, address)
        with self._lock:
            files = deploying.deploy(self._folder, survey, address)
            words = deploying.deploy_words(survey, address)
            self._deeds.add("Wrote what a server needs.", files, [command(*words)])
            form = {"link": link, "qr": deploying.qr_code(link), "files": files}
            return self._with_deeds(form)

    # Read

    def read(self, body: Form) -> Form:
        """Make a report of what was collected on this machine."""
        survey = self._surveys.named(body.get("survey"))
        with self._reading:
            result = reading.release(self._folder, survey)
            self._deeds.add("Made a report.", result["files"], result["commands"])
            return self._with_deeds(result | self._shown(result["report"]))

    def _shown(self, report: str) -> Form:
        return {"address": f"{self._stage.address}/report/{report}"}

    def _with_deeds(self, form: Form) -> Form:
        return form | {"deeds": self._deeds.to_json()}
