"""A questionnaire in five languages, with gaps, as its page is tried."""

from __future__ import annotations

from typing import Any

from deniable.questionnaire import Questionnaire

TONGUES = ("en", "de", "fr", "es", "ar")
MARKUP = "<img src=x onerror=\"document.title='run'\">"

FORM: dict[str, Any] = {
    "deniable": "questionnaire",
    "format": 1,
    "languages": ["de", "en", "fr", "es", "ar"],
    "title": {
        "de": "Arbeit und Ruhe",
        "en": "Work and rest",
        "fr": "Travail et repos",
        "es": "Trabajo y descanso",
        "ar": "العمل والراحة",
    },
    "introduction": {
        "de": "Es geht um Ihre Arbeitstage und darum, wie müde Sie sind.\n\nDas dauert zwei Minuten.",
        "en": "This is about your working days, and how tired they make you.\n\nIt takes two minutes.",
        "fr": "Il s’agit de vos journées de travail et de votre fatigue.\n\nCela prend deux minutes.",
        "es": "Se trata de sus días de trabajo y de su cansancio.\n\nToma dos minutos.",
        "ar": "نسأل عن أيام عملك وعن مدى تعبك.\n\nيستغرق ذلك دقيقتين.",
    },
    "who": {
        "de": "Die Beispiel-Universität, für eine Studie zur Schichtarbeit.",
        "en": "Example University, for a study of shift work.",
        "fr": "L’université Exemple, pour une étude sur le travail posté.",
        "es": "La Universidad Ejemplo, para un estudio del trabajo por turnos.",
        "ar": "جامعة المثال، لدراسة عن العمل بالمناوبة.",
    },
    "contact": "study@example.org",
    "consent": {
        "de": "Ich habe das gelesen und nehme freiwillig teil.",
        "en": "I have read this and take part of my own will.",
        "fr": "J’ai lu ce qui précède et je participe de mon plein gré.",
        "es": "He leído lo anterior y participo por mi propia voluntad.",
        "ar": "قرأت ما سبق وأشارك بمحض إرادتي.",
    },
    "thanks": {
        "de": "Danke! Die Ergebnisse erscheinen im Herbst.",
        "en": "Thank you! Results appear in autumn.",
        "fr": "Merci ! Les résultats paraîtront en automne.",
        "es": "¡Gracias! Los resultados se publicarán en otoño.",
        "ar": "شكرًا! تصدر النتائج في الخريف.",
    },
    "closed": {
        "de": "Die Erhebung ist abgeschlossen.",
        "en": "We have finished collecting.",
        "fr": "La collecte est terminée.",
        "es": "La recogida ha terminado.",
        "ar": "انتهى جمع الإجابات.",
    },
    "design": {"epsilon": 1.5, "order": 2, "people": 2000},
    "labels": [
        {
            "name": "region",
            "wording": {
                "de": "Wo wohnen Sie?",
                "en": "Where do you live?",
                "fr": "Où habitez-vous ?",
                "es": "¿Dónde vive usted?",
                "ar": "أين تسكن؟",
            },
            "values": [
                {
                    "value": "north",
                    "label": {
                        "de": "im Norden",
                        "en": "in the north",
                        "fr": "au nord",
                        "es": "en el norte",
                        "ar": "في الشمال",
                    },
                },
                {
                    "value": "south",
                    "label": {
                        "de": "im Süden",
                        "en": "in the south",
                        "fr": "au sud",
                        "es": "en el sur",
                        "ar": "في الجنوب",
                    },
                },
            ],
        }
    ],
    "attributes": [
        {
            "name": "job",
            "wording": {
                "de": "Haben Sie eine bezahlte Arbeit?",
                "en": "Do you have paid work?",
                "fr": "Avez-vous un travail rémunéré ?",
                "es": "¿Tiene usted un trabajo remunerado?",
                "ar": "هل لديك عمل مدفوع الأجر؟",
            },
        },
        {
            "name": "hours",
            "wording": {
                "de": "Wie viele Stunden haben Sie letzte Woche gearbeitet?",
                "en": "How many hours did you work last week?",
                "fr": "Combien d’heures avez-vous travaillé la semaine dernière ?",
                "es": "¿Cuántas horas trabajó usted la semana pasada?",
                "ar": "كم ساعة عملت الأسبوع الماضي؟",
            },
            "help": {
                "de": "Nur bezahlte Arbeit, auch im Dienst verbrachte Pausen.",
                "en": "Paid work only, breaks on duty included.",
                "fr": "Seulement le travail payé, pauses comprises.",
                "es": "Solo el trabajo pagado, incluidas las pausas.",
                "ar": "العمل المدفوع فقط، مع فترات الراحة أثناء الدوام.",
            },
            "low": 0,
            "high": 80,
            "step": 5,
            "unit": {"de": "Stunden", "en": "hours", "fr": "heures", "es": "horas", "ar": "ساعة"},
            "missing": "no answer",
            "label_missing": {
                "de": "keine Angabe",
                "en": "I would rather not say",
                "fr": "Je préfère ne pas répondre",
                "es": "Prefiero no decirlo",
                "ar": "أفضّل عدم الإجابة",
            },
            "when": {"attribute": "job", "is": True, "otherwise": 0},
        },
        {
            "name": "naps",
            "wording": {
                "de": "Schlafen Sie manchmal bei der Arbeit?",
                "en": "Do you sometimes sleep at work?",
                "fr": "Vous arrive-t-il de dormir au travail ?",
                "es": "¿Duerme a veces en el trabajo?",
                "ar": "هل تنام أحيانًا في العمل؟",
            },
            "when": {
                "all": [
                    {"attribute": "job", "is": True},
                    {"attribute": "hours", "is": {"above": 0}},
                ],
                "otherwise": False,
            },
        },
        {
            "name": "tired",
            "wording": {
                "de": "Wie oft sind Sie müde?",
                "en": "How often are you tired?",
                "fr": "À quelle fréquence êtes-vous fatigué ?",
                "es": "¿Con qué frecuencia está usted cansado?",
                "ar": "كم مرة تشعر بالتعب؟",
            },
            "values": [
                {
                    "value": "never",
                    "label": {
                        "de": "nie",
                        "en": "never",
                        "fr": "jamais",
                        "es": "nunca",
                        "ar": "أبدًا",
                    },
                },
                {
                    "value": "at times",
                    "label": {
                        "de": "manchmal",
                        "en": "at times",
                        "fr": "parfois",
                        "es": "a veces",
                        "ar": "أحيانًا",
                    },
                },
                {
                    "value": "often",
                    "label": {
                        "de": "oft",
                        "en": "often",
                        "fr": "souvent",
                        "es": "a menudo",
                        "ar": "كثيرًا",
                    },
                },
            ],
            "ordered": True,
            "complete": True,
        },
        {
            "name": "markup",
            "wording": {"de": f"Schreiben Sie {MARKUP} in Briefe?"},
        },
    ],
    "pages": [
        {
            "title": {
                "de": "Arbeit",
                "en": "Work",
                "fr": "Travail",
                "es": "Trabajo",
                "ar": "العمل",
            },
            "attributes": ["job", "hours", "naps"],
        },
        {
            "title": {"de": "Ruhe", "en": "Rest", "fr": "Repos", "es": "Descanso", "ar": "الراحة"},
            "introduction": {"de": "Noch zwei Fragen.", "en": "Two more questions."},
            "attributes": ["tired", "markup"],
        },
    ],
}


def tongues(**changes: Any) -> Questionnaire:
    """Return the questionnaire, with some of its fields changed."""
    return Questionnaire.of(FORM | changes)
