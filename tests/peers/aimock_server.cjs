// aimock of npm, with the answers of the tests, until its input ends:
// `node aimock_server.cjs FOLDER`, where FOLDER holds node_modules. Prints its address.

const { createRequire } = require("node:module");
const { join } = require("node:path");

const { LLMock } = createRequire(join(process.argv[2], "x.js"))("@copilotkit/aimock");

async function main() {
  const mock = new LLMock({ port: 0, logLevel: "silent", chunkSize: 4 });
  const call = { name: "weather", arguments: JSON.stringify({ city: "Rome" }) };
  mock.on({ userMessage: "weather", hasToolResult: false }, { toolCalls: [call] });
  mock.on({ userMessage: "weather", hasToolResult: true }, { content: "Sunny in Rome." });
  mock.on({ userMessage: "Hello" }, { content: "Hello to you, too." });
  await mock.start();
  console.log(`listening ${mock.url}`);
  process.stdin.resume();
  process.stdin.on("end", () => mock.stop().then(() => process.exit()));
}

main();
