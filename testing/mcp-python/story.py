"""An agent that uses the official Python client, from the first call to the receipt.

The URL and the token come from the environment. After the proposal it prints one line of JSON and
waits for a line on standard input, which says that a person decided.
"""

import asyncio
import json
import os
import sys
import uuid

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


def require(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what}: expected {expected!r}, found {found!r}")


async def call(session, name, arguments=None):
    """The structured content of a call, which the client has checked against its schema."""
    result = await session.call_tool(name, arguments or {})
    if result.is_error:
        raise SystemExit(f"{name}: {result.content[0].text}")
    return result.structured_content


async def propose(session, campaign):
    budget = campaign["daily_budget_minor"] + 1
    action = {
        "type": "increase_budget",
        "params": {"new_daily_budget_minor": budget},
        "target_entity": {"type": campaign["type"], "id": campaign["id"]},
        "rationale": "A cent more a day.",
    }
    preview = await call(session, "dry_run_actions", {"actions": [action]})
    decision = preview["dry_run"]["actions"][0]["policy_decision"]
    require("the preview", decision, "require_approval")
    body = {
        "actions": [action],
        "rationale": "The Python client works.",
        "idempotency_key": str(uuid.uuid4()),
        "evidence": [{"source_tool": "get_account_state", "fields_used": ["entities"]}],
        "target_source": "human_supplied",
    }
    first = await call(session, "propose_actions", body)
    again = await call(session, "propose-actions", body)
    require("the same key", again["proposal"]["id"], first["proposal"]["id"])
    return first["proposal"], budget


async def run(session):
    await session.initialize()
    tools = [tool.name for tool in (await session.list_tools()).tools]
    prompts = [prompt.name for prompt in (await session.list_prompts()).prompts]
    review = await session.get_prompt("weekly_review", {"days": "7"})
    require("the prompt", "get_account_state" in review.messages[0].content.text, True)
    policy = await session.read_resource("signalbox://policy")
    mode = json.loads(policy.contents[0].text)["policy"]["execution_mode"]
    early = await session.call_tool("get_performance", {})
    require("a call before get_account_state", early.is_error, True)
    state = await call(session, "get_account_state", {"entity_type": "campaign"})
    await call(session, "get_signal_health")
    await call(session, "get_performance", {"days": 7})
    await call(session, "verify_signal_ingestion")
    await call(session, "get_action_policy")
    campaign = next(one for one in state["entities"] if one["daily_budget_minor"])
    proposal, budget = await propose(session, campaign)
    print(json.dumps({"inbox_url": proposal["inbox_url"]}), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    batch = await call(session, "get_action_batch", {"batch_id": proposal["id"]})
    action_id = batch["batch"]["actions"][0]["id"]
    action = (await call(session, "get_action", {"action_id": action_id}))["action"]
    require("the action", action["status"], "verified")
    require("the new budget", action["after"]["daily_budget_minor"], budget)
    receipt = await call(session, "get_action_decision_receipt", {"action_id": action_id})
    outcome = receipt["disposition"]["outcome_status"]
    listed = await call(session, "list_actions", {"status": "verified"})
    require("the list", [one["id"] for one in listed["actions"]], [action_id])
    summary = {"tools": tools, "prompts": prompts, "mode": mode, "outcome": outcome}
    print(json.dumps(summary), flush=True)


async def main():
    headers = {"Authorization": f"Bearer {os.environ['SIGNALBOX_EXECUTION_TOKEN']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        url = os.environ["SIGNALBOX_MCP_URL"]
        async with streamable_http_client(url, http_client=http) as (read, write, *_):
            async with ClientSession(read, write) as session:
                await run(session)


asyncio.run(main())
