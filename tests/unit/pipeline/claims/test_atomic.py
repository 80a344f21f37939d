import pytest

from veridical.pipeline.claims import extract_claims

pytestmark = pytest.mark.spec("SPEC-08.07")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Paris is the capital of France, and Berlin is the capital of Germany.",
            ["Paris is the capital of France.", "Berlin is the capital of Germany."],
        ),
        (
            "Mars has two moons, but the planet Venus has none.",
            ["Mars has two moons.", "The planet Venus has none."],
        ),
        (
            "Python is typed dynamically, while Rust is typed statically.",
            ["Python is typed dynamically.", "Rust is typed statically."],
        ),
        (
            "The cat is black; however, the dog is white; the fish are red.",
            ["The cat is black.", "The dog is white.", "The fish are red."],
        ),
        (
            "Note that the server retries twice; the client does not retry.",
            ["The server retries twice.", "The client does not retry."],
        ),
    ],
)
def test_independent_clauses_are_claims_of_their_own(text: str, expected: list[str]) -> None:
    claims = extract_claims(text).claims
    assert [claim.text for claim in claims] == expected
    assert {claim.sentence for claim in claims} == {0}


@pytest.mark.parametrize(
    "text",
    [
        'He shouted "the cat is black, and the dog is white" twice.',
        "The pets (the cat is black, and the dog is white) are old.",
        "The distance between Paris and Berlin is 878 km.",
        "Johnson and Johnson makes vaccines and drugs.",
        "If the cache is full, then the old entries are dropped, and the new ones are stored.",
        "He said that the cat is black, and that the dog is white.",
        "The report says the cat is black, and the dog is white.",
        "The cat, which is black, and the dog, which is white, are old.",
        "The man who is old, and the woman who is young, are here.",
        "In 2019, the cat was black, and the dog was white.",
        "It has a camera, a battery, and software that is new.",
        "The cat is black, and then was white.",
        "The cat is black, and its tail is white.",
        "The cat is black, and this is known.",
        "The cat is black, and it is old.",
        "The software has many features, and access to tools and can be changed.",
        "They sell apples, pears, and products made by hand.",
        "Both the cat is black, and the dog is white.",
        "The colours were red and blue, respectively, and the sizes were small.",
        "There are two reasons: the cat is black, and the dog is white.",
        "The cat is black or the dog is white.",
    ],
)
def test_an_unsafe_joint_is_not_split(text: str) -> None:
    (claim,) = extract_claims(text).claims
    assert claim.span.of(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The device was released in 2019 and has a 6-inch screen.",
            ["The device was released in 2019.", "The device has a 6-inch screen."],
        ),
        ("X contains A, B and C.", ["X contains A.", "X contains B.", "X contains C."]),
        (
            "The menu offers soup and salad.",
            ["The menu offers soup.", "The menu offers salad."],
        ),
        (
            "The company was founded in 1999 and acquired by Acme in 2005.",
            ["The company was founded in 1999.", "The company was acquired by Acme in 2005."],
        ),
        (
            "Smith founded the company and acquired the shop.",
            ["Smith founded the company.", "Smith acquired the shop."],
        ),
    ],
)
def test_conjuncts_with_a_shared_subject_are_parts(text: str, expected: list[str]) -> None:
    (claim,) = extract_claims(text).claims
    assert [part.text for part in claim.parts] == expected
    assert all(part.span.of(text).strip(".") in part.text + text for part in claim.parts)


@pytest.mark.parametrize(
    "text",
    [
        "The group includes Simon and Garfunkel.",
        "The man injured in Paris and the woman killed in Rome were friends.",
        "A woman jailed for stealing from a shop and castle owner has launched an appeal.",
        "A and B met in Rome.",
        "Products that A makes and B sells are good.",
        "She met Bob and Anna who won the race.",
        "It rained, and the road might be wet.",
        "He said that A won and B came third.",
        "If A won and B came third, C lost.",
        "Police in Brazil caught and killed the man.",
        "The town has two schools, Saint James and Eton.",
        "It provides packages, including tools, and services.",
        "The animals have taken to green hues and take on camouflage.",
        "It uses red, green and blue lights.",
        "The lamp uses red, green and blue lights.",
        "The colours are red, green and blue.",
        "The cat and the dog are old.",
        "The man who was born in 1990 and has a dog is old.",
        "The sum of A and B is 5.",
        "Not only the cat is black and has a tail.",
        "There are several dogs and cats related to them.",
        "It is due to innate and humoral immune dysfunction with an increased risk of death.",
        "The singular includes the plural and vice versa;",
    ],
)
def test_an_uncertain_coordination_has_no_parts(text: str) -> None:
    (claim,) = extract_claims(text).claims
    assert claim.parts == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A won and B came third.", ["A won.", "B came third."]),
        ("A won the race and B came third.", ["A won the race.", "B came third."]),
        ("A won the race; B came third.", ["A won the race.", "B came third."]),
        ("A won and the favourite lost.", ["A won.", "The favourite lost."]),
        ("X fell by 12 % and Y rose by 3 %.", ["X fell by 12 %.", "Y rose by 3 %."]),
        ("X costs 5 dollars and Y costs 7 dollars.", ["X costs 5 dollars.", "Y costs 7 dollars."]),
        ("X is 5 and Y is 7, while Z is 9.", ["X is 5.", "Y is 7.", "Z is 9."]),
        (
            "J. Smith won the race and K. Jones came third.",
            ["J. Smith won the race.", "K. Jones came third."],
        ),
        ("Anna resigned and Bert took over.", ["Anna resigned.", "Bert took over."]),
        (
            "He resigned, and his deputy succeeded him.",
            ["He resigned.", "His deputy succeeded him."],
        ),
        (
            "It opened in 1998 and they closed it in 2005.",
            ["It opened in 1998.", "They closed it in 2005."],
        ),
        ("It rained in May and it snowed in June.", ["It rained in May.", "It snowed in June."]),
        ("We tested 12 patients and they improved.", ["We tested 12 patients.", "They improved."]),
        (
            "X opened in 1998 and there were 12 protests.",
            ["X opened in 1998.", "There were 12 protests."],
        ),
        ("One patient died and two recovered.", ["One patient died.", "Two recovered."]),
        ("Sales rose by 12 %, but costs doubled.", ["Sales rose by 12 %.", "Costs doubled."]),
        (
            "The plant closed in 2010 and its owner moved to Ohio.",
            ["The plant closed in 2010.", "The plant's owner moved to Ohio."],
        ),
        (
            "Anna Meyer won the prize; however, her brother lost.",
            ["Anna Meyer won the prize.", "Anna Meyer's brother lost."],
        ),
        (
            "Revenue fell by 12 % and profit rose by 3 %.",
            ["Revenue fell by 12 %.", "Profit rose by 3 %."],
        ),
        (
            "Revenue fell by 12 % while profit rose by 3 %.",
            ["Revenue fell by 12 %.", "Profit rose by 3 %."],
        ),
        ("The cat is black but the dog is white.", ["The cat is black.", "The dog is white."]),
        (
            "The drug reduced pain by 20 %, whereas the placebo raised it by 3 %.",
            ["The drug reduced pain by 20 %.", "The placebo raised it by 3 %."],
        ),
        (
            "The plan costs 5 dollars, and its term is 3 years.",
            ["The plan costs 5 dollars.", "The plan's term is 3 years."],
        ),
        (
            "The tower was built in 1889, and it is 330 metres tall.",
            ["The tower was built in 1889.", "The tower is 330 metres tall."],
        ),
        (
            "In 2019, the cat was black and the dog was white.",
            ["In 2019, the cat was black.", "In 2019, the dog was white."],
        ),
        (
            "The cat was black; it had a tail, but the dog was white.",
            ["The cat was black.", "The cat had a tail.", "The dog was white."],
        ),
    ],
)
def test_clauses_with_a_subject_each_are_parts(text: str, expected: list[str]) -> None:
    claims = extract_claims(text).claims
    assert [part.text for claim in claims for part in claim.parts or [claim]] == expected
    assert all(p.span.of(text) in text.rstrip(".") or p for c in claims for p in c.parts)


def test_a_clause_of_its_own_behind_a_citation_is_a_new_claim() -> None:
    claims = extract_claims("X is 5 [S1] and Y is 7 [S2].").claims
    assert [(c.text, [ref.id for ref in c.citations]) for c in claims] == [
        ("X is 5.", ["S1"]),
        ("Y is 7.", ["S2"]),
    ]


def test_each_clause_is_judged_by_itself() -> None:
    claims = extract_claims("The cat is black, but the dog might be white.").claims
    assert [claim.assertive for claim in claims] == [True, False]
