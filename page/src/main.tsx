import { render } from "preact";
import { begin } from "./address";
import { App } from "./parts/App";
import "./styles/index.css";

render(<App />, document.getElementById("page")!);
void begin();
