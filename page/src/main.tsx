import { render } from "preact";
import { start } from "./actions";
import { App } from "./parts/App";
import "./style.css";

render(<App />, document.getElementById("page")!);
void start();
