"""The manifest: what the specification asks for, one numbered row per sentence, in our own words.
Tests are bound to rows with `@pytest.mark.spec(number)`. A row whose work is not part of the core
names in brackets the part of the project that covers it."""

from __future__ import annotations

from dataclasses import dataclass

CORE = "core"
PARTS = (
    CORE,
    "live",
    "task modes",
    "workflow",
    "Vertex",
    "LangGraph",
    "A2A",
    "models",
)


@dataclass(frozen=True)
class Row:
    """One sentence of the specification: its number, section ("A.7"), part of the project."""

    number: str
    section: str
    part: str
    sentence: str


_TEXT = """
A.1 Runner and invocation lifecycle
1 Runner.run_async takes keywords only, as specified, and is an async generator of Event
2 Runner.run is the blocking form of run_async and runs an event loop of its own
3 A Runner is made from an App, or an agent and app_name, with services and auto_create_session
4 Without a run_config a default RunConfig is used
5 A new message without a role gets the role user
6 A new message may be a plain dict of role and parts
7 Spans: invocation; below it invoke_agent NAME; below that chat MODEL, execute_tool NAME
8 The session is loaded, or created where that is enabled; else a missing one is an error
9 A new invocation id is "e-" and a uuid4; new_invocation_context_id() makes one
10 A new run: context, user-message hook, user event, choice of the agent, in that order
11 The state_delta argument rides on the user event
12 A user message that is a function response takes the branch of its function call
13 The user event, author user, is stored before the agent runs
14 Agent choice: a trailing function response goes to the author of its call
15 Agent choice: else the newest non-user event that is no checkpoint; the root wins by name
16 Agent choice: unknown authors are skipped with a warning; the path up must allow transfers
17 Agent choice: else the root
18 Content from before_run_callback is the only answer; the agent does not run
19 custom_metadata of the RunConfig is merged into every event
20 Only events that are not partial are appended to the session
21 on_event_callback sees each event and may change it before it is stored
22 The caller sees an event only after it was committed
23 Agent code goes on after a yield only when the event was committed
24 after_run_callback runs last and emits nothing
25 Compaction runs after the run where it is configured
26 Resume: an invocation_id rebuilds the context from history and goes on
27 Resuming an invocation whose root has ended returns at once
28 All agents, model calls and tools of one invocation share its id
29 Errors of agent code reach the caller of run_async
A.2 InvocationContext and user-facing contexts
30 The invocation context holds the services, the plugin manager and the cache config
31 ... the invocation id, branch, isolation scope, agent, user content and session
32 ... node path, agent states, ended agents, end_invocation, run config, resumability config
33 [live] ... the live request queue, the active streaming tools and the realtime caches
34 is_resumable follows from the resumability config
35 set_agent_state saves or clears a checkpoint; history restores the states
36 _get_events filters by current invocation and current branch
37 increment_llm_call_count raises LlmCallsLimitExceededError over the limit
38 should_pause_invocation(event) says whether a long-running call pauses the run
39 end_invocation stops before the agent, after preprocessing and before after_agent callbacks
40 ReadonlyContext gives content, ids, agent name, state, session, run config, get_credential
41 ReadonlyContext.state is a mapping proxy: a write raises TypeError
42 CallbackContext adds writable state, artifacts and credentials
43 ToolContext adds call id, actions, credential and confirmation requests, memory search
A.3 BaseAgent and the tree
44 run_async and run_live are final; subclasses write _run_async_impl and _run_live_impl
45 Order: child context, before callbacks, end check, the agent, end check, after callbacks
46 Content from a before_agent callback is the event; agent and after callbacks are skipped
47 Content from an after_agent callback is one more event
48 sub_agents set parent_agent; one parent only; names are unique
49 root_agent, find_agent and find_sub_agent
50 Branch of a child agent: only a parallel fan-out makes a new one
A.4 LlmAgent
51 Agent is LlmAgent under another name
52 The model: own, else of the nearest LlmAgent above, else the class's default
53 An instruction is text or a callable, async too; {key} is filled from state
54 static_instruction goes to the system instruction as it is, instruction then to the contents
55 Of global_instruction only the root's counts
56 Tools may be functions, BaseTool or BaseToolset
57 generate_content_config is copied deeply for each request
58 A planner and a code_executor may be set
59 output_schema takes a pydantic model, and tools still work beside it
60 output_key saves the agent's own final text, or the parsed object, in the state
61 include_contents 'none' sends the current turn only
62 Transfers to the parent and to peers can be disallowed
63 No sub-agents and both transfers disallowed: SingleFlow; else AutoFlow
64 A state_schema on an agent or node checks what is written to the state
65 Model, tool and error callbacks are each one callable or a list
66 Resume finds the sub-agent to go on with from the transfers, runs it, then ends the agent
67 A resumable run ends with an end_of_agent event unless it pauses
A.5 Agent modes and the task API
68 [task modes] mode is None, chat, task or single_turn; the Runner gives chat to a root with None
69 [task modes] A chat coordinator sees all unscoped history and delegates through tools
70 [task modes] A task agent has a scope of its own, takes turns and ends with finish_task
71 [task modes] A single_turn agent runs once per delegation, isolated
72 [task modes] An event is visible in its own isolation scope only
73 [task modes] finish_task answers the coordinator's call; the coordinator then speaks
A.6 Shell and specialised agents
74 SequentialAgent runs its sub-agents in order
75 ParallelAgent runs them together, each on a branch of its own
76 LoopAgent repeats until max_iterations or escalate
77 [LangGraph] LangGraphAgent wraps a compiled graph and converts its messages
78 [A2A] RemoteA2aAgent speaks A2A over HTTP
A.7 The loop
79 Steps repeat until none yields, the last event is final, or it is partial (with a warning)
80 A step: preprocess, resume check, model call, postprocess
81 end_invocation after preprocessing ends the step
82 Resume check: pause while a long-running call is open, else run pending calls without a model
83 The model's event gets a new id after each yielded event
84 A function response is never final, so the loop goes on
A.8 Request processors
85 The processors run in the specified order
86 AutoFlow adds agent_transfer
87 basic: model name, a copy of the config, the output schema where the model can take it
88 basic: the live settings of the RunConfig are copied
89 instructions: global of the root, static, then the agent's own
90 Other than text in a static instruction becomes user contents that are referred to
91 Injection: {key}, {key?}, {artifact.name}, prefixes; odd names stay; a missing one raises
92 identity says the agent's internal name and its description
93 contents replaces the contents and puts instruction contents back in
94 Schema, tools and a model that cannot do both: set_model_response and an instruction
95 After the processors: toolset credentials, toolsets, then tools in order see the request
96 LlmRequest has its specified fields; tools_dict is not serialised
97 append_instructions joins by blank lines; of a Content the text, the rest as user content
98 append_tools fills tools_dict and the one Tool that holds the declarations
99 set_output_schema sets the response schema and the JSON mime type
A.9 Contents
100 A rewind hides everything from the named invocation up to itself
101 Events without visible content are dropped; compaction events never are
102 A thought, or a part without content, is invisible; calls and responses never are
103 Branch rule: none on either side, equal, or an ancestor
104 Credential, confirmation, framework and input-request events are dropped
105 A compacted range is replaced by its summary
106 Consecutive transcriptions of one side are merged
107 Another agent's events are told as the user's context, without its thoughts
108 The latest function response moves next to its call, with those between
109 Each call in history is followed at once by its merged responses
110 Merging responses: the same id replaces, a new one and other parts are appended
111 Contents are not shared with the history; ids made here are stripped
112 include_contents 'none' starts at the latest user or other-agent event
A.10 The model call
113 before_model: plugins, then the agent's list; a response skips the call and is not counted
114 The label adk_agent_name is set
115 The call is counted before it is made
116 The model is asked to stream in SSE mode only
117 after_model: plugins, then the agent's list; it may replace the response
118 on_model_error may give a response in place of the error, else it is raised
119 LlmResponse.create: content, finish reason, block reason or UNKNOWN_ERROR
120 Without SSE only responses that are not partial are yielded
A.11 Post-processing
121 Response processors: planning, then code execution; the same in AutoFlow
122 No content, error or interruption: no event
123 The event is the skeleton with the response's fields that are set
124 Missing call ids are filled with adk- and a uuid4
125 long_running_tool_ids is filled from the tools
126 Partial function calls are never run
127 Order: credential event, confirmation event, response, structured answer, transferred agent
A.12 Tools
128 BaseTool: name, description, is_long_running, declaration, run_async, process_llm_request
129 FunctionTool, TransferToAgentTool, AgentTool, GoogleSearchTool and VertexAiSearchTool
130 A BaseToolset filters, prefixes names, and is resolved with a readonly context
131 The calls of one response run side by side; None results are dropped
132 Each call gets its own deep copy of the arguments
133 Pipeline: before (plugin, agent), run, after (plugin, agent), long-running check, event
134 A tool's error goes to on_tool_error; a dict is the result, else it is raised
135 An unknown tool goes to on_tool_error, else back to the model
136 A long-running tool that returns nothing makes no response event
137 A result that is no dict becomes {'result': value}
138 The response event: author the agent, role user, the tool's actions, branch and call id
139 Parallel results merge: parts in order, actions deeply, the first one's timestamp
140 A single response event is passed on as it is
141 FunctionTool turns dict arguments into pydantic models by their hints, Optional too
142 Unknown arguments are dropped; tool_context is injected if asked for
143 Missing mandatory arguments are answered to the model
144 Targets may be sync, async or objects with an async __call__
145 require_confirmation is a bool or a callable of the arguments
A.13 Confirmation and authentication
146 Unconfirmed: a request and an error result; rejected: an error that says so
147 adk_request_confirmation is answered by the user; then the tool runs again
148 request_credential makes adk_request_credential; get_auth_response reads the answer
149 Requests are kept in the actions by function call id
A.14 Transfer
150 transfer_to_agent sets the action; its declaration lists the names
151 Targets: sub-agents, and unless disallowed parent and peers; the parent is an LlmAgent
152 The instruction names the targets, and the parent only if it is one
153 Without targets nothing is added
154 The target runs in the same invocation after the response; an unknown one is an error
155 A tool may set transfer_to_agent, escalate and skip_summarization itself
A.15 Callbacks and plugins
156 Callbacks have their specified signatures and may be async
157 Plugins first; what they return skips the agent's; the first result of a list wins
158 BasePlugin has its twelve hooks
159 The plugin manager runs them in order of registration and stops at the first result
160 Lifecycle hooks take keywords only
161 before_model may change the request in place
A.16 Planners
162 BuiltInPlanner sets the thinking config and does nothing afterwards
163 PlanReActPlanner: an instruction, five tags, reasoning parts marked as thoughts
164 What a planner writes to the state becomes a state event
A.17 Code execution
165 Data files in a message are taken out, explored first, and the code put in
166 The built-in executor's images become artifacts
167 Other executors: the first block runs, files become artifacts, the loop goes on
168 error_retry_attempts bounds retries; a trailing execution result is not final
A.18 Events
169 Event is an LlmResponse with invocation, author, actions, branch, id and timestamp
170 ... and output, node_info and isolation_scope
171 The id is a uuid4, the timestamp a float
172 is_final_response is the specified predicate
173 get_function_calls, get_function_responses, has_trailing_code_execution_result
174 The keywords state, route and node_path reach the nested fields
175 NodeInfo: path of name@run_id, run_id, name, output_for
176 EventActions has its specified fields
177 ... and route, render_ui_widgets and set_model_response
178 EventCompaction: start, end and the compacted content
179 UiWidget rides in render_ui_widgets
180 The eight example events have their specified JSON
A.19 Session and state
181 Session: id, app_name, user_id, state, events, last_update_time
182 Prefixes app:, user: and temp: give the scope; none is the session
183 State is a value and a delta with a dict's methods and has_delta
184 The session service merges the delta when the event is appended
185 None removes a key
186 A write against the schema is a StateSchemaError, a TypeError, that names key and type
187 Local writes are readable before the commit and lost without it
188 A partial event is forwarded and its actions are not applied
189 append_event applies deltas, fills id and timestamp, and appends
190 BaseSessionService: create, get, list, delete, append; GetSessionConfig narrows a get
191 Listed sessions have no events
192 InMemorySessionService
193 DatabaseSessionService over SQLite, PostgreSQL and MySQL, both schemas
194 A stale writer gets the specified error
195 [Vertex] VertexAiSessionService with its rules of ids and keys
A.20 Artifacts and memory
196 The artifact port, in memory; versions; artifact_delta maps a name to its version
197 An artifact is saved when asked; the event only confirms
198 The memory port; search gives memories with content
199 The Runner never writes to memory by itself; events can be added
200 [Vertex] VertexAiMemoryBankService chooses between ingesting and generating
A.21 Streaming and live
201 StreamingMode is NONE by default, SSE or BIDI
202 SSE: partial chunks, then one whole event
203 run_live: history first, audio caches, transcription, resumption
204 Live audio is not stored; files, calls and whole transcriptions are
205 ToolThreadPoolConfig for live tools
A.22 Limits, pause, resume
206 max_llm_calls is 500; zero or less turns it off with a warning; one more raises
207 A long-running call puts its id on the event, which is final: the run pauses
208 Pause while a long-running call has no response; checkpoints in agent_state
209 Resume with a function response, or with the invocation id alone
A.23 Compaction and caching
210 The sliding window: an interval and an overlap
211 A summariser's answer becomes an event with actions.compaction
212 ContextCacheConfig: its fields, bounds and ttl_string
213 [models] The cache starts at the second turn and above the token floors
214 [models] Interactions chain by previous_interaction_id
A.24 Output schema
215 Natively where possible, else set_model_response, whose arguments are the final text
A.25 App and workflow
216 App: its fields, and a name that is an identifier and not user
217 [workflow] BaseNode and Workflow with nodes, edges and routes
218 [workflow] A final event may carry a node's output
218a RunConfig.get_session_config reaches get_session
A.26 Async
219 Async first; sync tools and callbacks are allowed
220 The specified module paths can be imported
"""


def _read(text: str) -> tuple[dict[str, str], dict[str, Row]]:
    sections: dict[str, str] = {}
    rows: dict[str, Row] = {}
    section = ""
    for line in text.strip().splitlines():
        key, _, rest = line.partition(" ")
        if key.startswith("A."):
            section = key
            sections[key] = rest
            continue
        part = CORE
        if rest.startswith("["):
            part, _, rest = rest[1:].partition("] ")
        if key in rows:
            raise ValueError(f"row {key} stands twice in the manifest")
        rows[key] = Row(key, section, part, rest)
    return sections, rows


SECTIONS, ROWS = _read(_TEXT)
