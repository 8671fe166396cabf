import { render } from "preact";
import { start } from "./actions";
import { App } from "./parts/App";
import "./styles/index.css";

render(<App />, document.getElementById("page")!);
void start();
