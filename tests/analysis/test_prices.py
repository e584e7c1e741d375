"""Cost by the price list: only where none is recorded, only where everything is known, cached input at its price."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from genai_prices.data import providers

from debugger.analysis import prices
from debugger.analysis.conversation import conversation, document_of
from debugger.analysis.prices import computed_cost
from runtime.messages import Call, Usage

AT = int(datetime(2026, 1, 2, 12, tzinfo=UTC).timestamp() * 1_000_000_000)
CALL = Call(
    trace_id="1" * 32, span_id="2" * 16, parent_span_id=None, kind="llm", name="chat", start_unix_nano=AT,
    end_unix_nano=AT + 1, provider="openai", model="gpt-4o-mini",
    usage=Usage(input_tokens=1000, output_tokens=100, cached_tokens=400),
)  # fmt: skip


def test_cached_input_has_its_own_price() -> None:
    cost = computed_cost(CALL)
    assert cost is not None
    # 600 at $0.15, 400 at $0.075 and 100 at $0.60 a million.
    assert cost.nano_usd == 600 * 150 + 400 * 75 + 100 * 600
    assert cost.prices.startswith("genai-prices ")
    assert (cost.priced_as, cost.price_date) == ("openai/gpt-4o-mini", "2026-01-02")
    assert cost.to_json()["usd"] == cost.nano_usd / 1_000_000_000
    without = computed_cost(replace(CALL, usage=Usage(input_tokens=1000, output_tokens=100)))
    assert without is not None
    assert without.nano_usd == 1000 * 150 + 100 * 600


def test_what_is_written_to_the_cache_has_its_own_price() -> None:
    usage = Usage(input_tokens=1000, output_tokens=0, cached_tokens=300, cache_write_tokens=200)
    claude = replace(CALL, provider="anthropic", model="claude-sonnet-4-5", usage=usage)
    cost = computed_cost(claude)
    assert cost is not None
    # $3 a million plain, $0.30 read, $3.75 written.
    assert cost.nano_usd == 500 * 3_000 + 300 * 300 + 200 * 3_750
    assert computed_cost(replace(claude, usage=replace(usage, cache_write_tokens=701))) is None
    assert "200 written to the cache" in document_of(conversation(claude)).text


def test_a_router_prefix_and_the_answering_model_are_found() -> None:
    routed = computed_cost(replace(CALL, model="openai/gpt-4o-mini"))
    dated = computed_cost(replace(CALL, model="my-deployment", response_model="gpt-4o-mini-2024-07-18"))
    assert routed is not None
    assert dated is not None
    assert routed.nano_usd == dated.nano_usd


@pytest.mark.parametrize(
    "change",
    [
        {"usage": Usage(input_tokens=1, output_tokens=1, cost_nano_usd=7)},
        {"usage": Usage()},
        {"usage": Usage(input_tokens=10)},
        {"usage": Usage(input_tokens=10, output_tokens=1, cached_tokens=11)},
        {"usage": Usage(input_tokens=-1, output_tokens=1)},
        {"provider": None},
        {"model": None},
        {"model": "no-such-model"},
        {"provider": "no-such-provider"},
        {"kind": "agent"},
        {"start_unix_nano": None},
    ],
)  # fmt: skip
def test_what_is_not_known_has_no_price(change: dict[str, object]) -> None:
    changed = computed_cost(replace(CALL, **change))  # type: ignore[arg-type]  # any field of a call
    assert changed is None


def test_without_the_extra_nothing_has_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "_installed", lambda: None)
    assert computed_cost(CALL) is None


def test_the_screen_tells_computed_from_recorded_cost() -> None:
    def shown(call: Call) -> str:
        return document_of(conversation(call)).text

    assert "$0.0002 by genai-prices " in shown(CALL)
    assert "for 2026-01-02, not recorded" in shown(CALL)
    recorded = replace(CALL, usage=Usage(input_tokens=1000, output_tokens=100, cost_nano_usd=5_000_000))
    assert "$0.0050" in shown(recorded)
    assert "genai-prices" not in shown(recorded)


def test_the_plain_price_of_a_model_is_that_of_the_package() -> None:
    tokens, moment = prices._Tokens(given=123_457, told=1_009, read=0, written=0), datetime(2026, 3, 1, 1, tzinfo=UTC)
    plain = 0
    for provider in providers:
        for model in provider.models[::4]:
            listed = prices._listed_as(model.id, provider.id)
            if listed is not None and (total := prices._plain_total(listed, tokens, moment)) is not None:
                plain += 1
                assert total == prices._asked(model.id, provider.id, tokens, moment), (provider.id, model.id)
                assert prices._plain_total(listed, tokens._replace(read=1), moment) is None
    assert plain > 100
