import string

from k3triage.report import i18n


def test_every_phrase_fills_the_same_places_in_both_languages() -> None:
    for key in i18n.phrases():
        counts = {
            lang: sum(field is not None for _, field, _, _ in string.Formatter().parse(i18n.word(key, lang)))
            for lang in i18n.LANGUAGES
        }
        assert len(set(counts.values())) == 1, (key, counts)


def test_japanese_differs_from_english() -> None:
    assert [key for key in i18n.phrases() if i18n.word(key, "en") == i18n.word(key, "ja")] == []
