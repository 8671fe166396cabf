"""People in the loop: confirmation, long-running tools, credentials, pause and resume."""

import copy

from ..registry import scenario

CONFIRM = "adk_request_confirmation"
CREDENTIAL = "adk_request_credential"


def _pay(kit):
    def pay(amount: int, tool_context) -> dict:
        kit.note("paid", amount)
        return {"paid": amount}

    return pay


async def _confirmed(kit, answer, **fields):
    tool = kit.FunctionTool(_pay(kit), require_confirmation=True)
    root = kit.agent("root", kit.call("pay", amount=5), "Over.", "Next.", tools=[tool])
    talk = await kit.open(root, **fields)
    await talk.say("Pay 5")
    await talk.answer(CONFIRM, answer)
    await talk.say("Thanks")


@scenario(145, 146, 147, 149, words=("pay", "confirmation"))
async def confirmation_yes(kit):
    await _confirmed(kit, {"confirmed": True})


@scenario(145, 146, 147, words=("pay", "rejected", "confirmation"))
async def confirmation_no(kit):
    await _confirmed(kit, {"confirmed": False})


@scenario(147, 208, 209, words=("pay", "confirmation"))
async def confirmation_yes_resumable(kit):
    await _confirmed(
        kit,
        {"confirmed": True},
        app={"resumability_config": kit.ResumabilityConfig(is_resumable=True)},
    )


@scenario(145, words=("pay", "confirmation"))
async def confirmation_by_rule(kit):
    tool = kit.FunctionTool(_pay(kit), require_confirmation=lambda amount, **_: amount > 10)
    root = kit.agent(
        "root", [kit.call("pay", amount=5), kit.call("pay", amount=50)], "Over.", tools=[tool]
    )
    talk = await kit.open(root)
    await talk.say("Pay both")
    await talk.answer(CONFIRM, {"confirmed": True})


@scenario(127, 147, words=("pay", "confirmation"))
async def confirmation_of_two(kit):
    tool = kit.FunctionTool(_pay(kit), require_confirmation=True)
    root = kit.agent(
        "root", [kit.call("pay", amount=5), kit.call("pay", amount=6)], "Over.", tools=[tool]
    )
    talk = await kit.open(root)
    events = await talk.say("Pay both")
    asked = [c for e in events for c in e.get_function_calls() if c.name == CONFIRM]
    types = kit.types
    answers = [
        types.Part(
            function_response=types.FunctionResponse(
                name=CONFIRM, id=c.id, response={"confirmed": yes}
            )
        )
        for c, yes in zip(asked, (True, False), strict=True)
    ]
    await talk.say(answers)


@scenario(43, 147)
async def confirmation_asked_by_tool(kit):
    def buy(what: str, tool_context) -> dict:
        answer = tool_context.tool_confirmation
        if answer is None:
            tool_context.request_confirmation(hint="Really?", payload={"max": 3})
            return {"status": "waiting"}
        return {"bought": what, "yes": answer.confirmed, "payload": answer.payload}

    root = kit.agent(
        "root", kit.call("buy", what="tea"), "Waiting for you.", "Bought.", tools=[buy]
    )
    talk = await kit.open(root)
    await talk.say("Buy tea")
    await talk.answer(CONFIRM, {"confirmed": True, "payload": {"max": 2}})


@scenario(14, 147, "X16", words=("pay", "confirmation"))
async def confirmation_in_child(kit):
    tool = kit.FunctionTool(_pay(kit), require_confirmation=True)
    child = kit.agent(
        "child", kit.call("pay", amount=5), "Paid.", tools=[tool], description="Pays."
    )
    root = kit.agent("root", kit.call("transfer_to_agent", agent_name="child"), sub_agents=[child])
    talk = await kit.open(root)
    await talk.say("Pay")
    await talk.answer(CONFIRM, {"confirmed": True})


def _ask(kit, result=None):
    def ask(what: str):
        kit.note("asked", what)
        return result

    return kit.LongRunningFunctionTool(func=ask)


RESUMABLE = {"is_resumable": True}


def _resumable(kit):
    return {"resumability_config": kit.ResumabilityConfig(**RESUMABLE)}


@scenario(125, 136, 207)
async def long_running(kit):
    root = kit.agent("root", kit.call("ask", what="tea"), "Granted.", tools=[_ask(kit)])
    talk = await kit.open(root)
    await talk.say("Ask")
    await talk.answer("ask", {"granted": True})


@scenario(125, 207, "X4")
async def long_running_with_first_result(kit):
    root = kit.agent(
        "root",
        kit.call("ask", what="tea"),
        "Pending.",
        "Granted.",
        tools=[_ask(kit, {"ticket": 7})],
    )
    talk = await kit.open(root)
    await talk.say("Ask")
    await talk.answer("ask", {"granted": True})


@scenario(108, 110, 207)
async def long_running_answered_twice(kit):
    root = kit.agent("root", kit.call("ask", what="tea"), "Half.", "Full.", tools=[_ask(kit)])
    talk = await kit.open(root)
    await talk.say("Ask")
    await talk.answer("ask", {"half": True})
    await talk.answer("ask", {"full": True})


@scenario(108, 109, 207)
async def long_running_with_talk_between(kit):
    root = kit.agent(
        "root", kit.call("ask", what="tea"), "Still waiting.", "Granted.", tools=[_ask(kit)]
    )
    talk = await kit.open(root)
    await talk.say("Ask")
    await talk.say("And?")
    await talk.answer("ask", {"granted": True})


@scenario(131, 136, 207)
async def long_running_beside_quick_tool(kit):
    def quick() -> dict:
        return {"quick": True}

    root = kit.agent(
        "root", [kit.call("ask", what="tea"), kit.call("quick")], "Noted.", "Granted.",
        tools=[_ask(kit), quick],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Ask")
    await talk.answer("ask", {"granted": True})


@scenario(26, 67, 208, 209, "X4")
async def resumable_plain(kit):
    def tool() -> dict:
        return {"ok": True}

    root = kit.agent("root", kit.call("tool"), "Done.", tools=[tool])
    talk = await kit.open(root, app=_resumable(kit))
    await talk.say("Go")


@scenario(26, 208, 209)
async def resumable_long_running(kit):
    root = kit.agent("root", kit.call("ask", what="tea"), "Granted.", tools=[_ask(kit)])
    talk = await kit.open(root, app=_resumable(kit))
    await talk.say("Ask")
    await talk.answer("ask", {"granted": True})


@scenario(26, 208, 209)
async def resumable_long_running_by_id(kit):
    root = kit.agent("root", kit.call("ask", what="tea"), "Granted.", tools=[_ask(kit)])
    talk = await kit.open(root, app=_resumable(kit))
    await talk.say("Ask")
    await talk.answer("ask", {"granted": True}, invocation_id=talk.invocation())


@scenario(208, "X4")
async def resumable_long_running_first_result(kit):
    root = kit.agent(
        "root", kit.call("ask", what="tea"), "Granted.", "More.", tools=[_ask(kit, {"ticket": 7})]
    )
    talk = await kit.open(root, app=_resumable(kit))
    await talk.say("Ask")
    await talk.answer("ask", {"granted": True})


@scenario(66, 208, 209)
async def resumable_transfer(kit):
    child = kit.agent(
        "child", kit.call("ask", what="tea"), "Granted.", tools=[_ask(kit)], description="Asks."
    )
    root = kit.agent("root", kit.call("transfer_to_agent", agent_name="child"), sub_agents=[child])
    talk = await kit.open(root, app=_resumable(kit))
    await talk.say("Ask")
    await talk.answer("ask", {"granted": True})


@scenario(35, 74, 208, 209)
async def resumable_sequential(kit):
    one = kit.agent("one", "One.")
    two = kit.agent("two", kit.call("ask", what="tea"), "Granted.", tools=[_ask(kit)])
    three = kit.agent("three", "Three.")
    talk = await kit.open(
        kit.SequentialAgent(name="line", sub_agents=[one, two, three]), app=_resumable(kit)
    )
    await talk.say("Go")
    await talk.answer("ask", {"granted": True})


@scenario(35, 76, 208, 209)
async def resumable_loop(kit):
    one = kit.agent("one", "One.", "Two.")
    two = kit.agent("two", kit.call("ask", what="tea"), "Granted.", "Enough.", tools=[_ask(kit)])
    talk = await kit.open(
        kit.LoopAgent(name="loop", sub_agents=[one, two], max_iterations=2), app=_resumable(kit)
    )
    await talk.say("Go")
    await talk.answer("ask", {"granted": True})


@scenario(26, 209)
async def resume_after_crash(kit):
    def tool() -> dict:
        kit.note("tool ran")
        return {"ok": True}

    root = kit.agent("root", kit.call("tool"), RuntimeError("model down"), "Back.", tools=[tool])
    talk = await kit.open(root, app=_resumable(kit))
    await talk.say("Go", raises=("RuntimeError", "model down"))
    await talk.say(invocation_id=talk.invocation())


@scenario(27, 209)
async def resume_of_ended_invocation(kit):
    talk = await kit.open(kit.agent("root", "Done.", "Never."), app=_resumable(kit))
    await talk.say("Go")
    await talk.say(invocation_id=talk.invocation())


@scenario(26, 74, 209)
async def resume_sequential_after_crash(kit):
    one = kit.agent("one", "One.")
    two = kit.agent("two", RuntimeError("model down"), "Two.")
    talk = await kit.open(
        kit.SequentialAgent(name="line", sub_agents=[one, two]), app=_resumable(kit)
    )
    await talk.say("Go", raises=("RuntimeError", "model down"))
    await talk.say(invocation_id=talk.invocation())


def _key_config(kit):
    return kit.AuthConfig.model_validate(
        {
            "authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "rawAuthCredential": {"authType": "apiKey", "apiKey": "none"},
            "credentialKey": "golden_key",
        }
    )


@scenario(104, 148, 149)
async def credential_round_trip(kit):
    config = _key_config(kit)

    def fetch(tool_context) -> dict:
        credential = tool_context.get_auth_response(config)
        if credential is None:
            tool_context.request_credential(config)
            return {"status": "needs a key"}
        return {"key": credential.api_key}

    root = kit.agent("root", kit.call("fetch"), "Got it.", "More.", tools=[fetch])
    talk = await kit.open(root)
    events = await talk.say("Fetch")
    asked = next(c for e in events for c in e.get_function_calls() if c.name == CREDENTIAL)
    answer = copy.deepcopy(asked.args["authConfig"])
    answer["exchangedAuthCredential"] = {"authType": "apiKey", "apiKey": "k1"}
    await talk.answer(CREDENTIAL, answer)


@scenario(12, adk="2.13.0")  # 2.3.0 forgets the branch and starts another invocation
async def answer_keeps_branch(kit):
    one = kit.agent("one", kit.call("ask", what="tea"), "Granted.", tools=[_ask(kit)])
    talk = await kit.open(kit.ParallelAgent(name="both", sub_agents=[one]))
    await talk.say("Go")
    await talk.answer("ask", {"granted": True})
