// The sheet of keys.

import * as s from "../state";
import { KEYS } from "../keys";
import { Dialog } from "./Dialog";
import { Icon } from "./Icon";

export function Shortcuts() {
  const close = () => (s.dialog.value = "");
  return (
    <Dialog label="Keys" close={close}>
      <header class="bar">
        <h2>Keys</h2>
        <button class="icon" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <dl class="keys">
        {KEYS.map(({ keys, what }) => (
          <div key={what}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label class="row">
        <input
          type="checkbox"
          checked={s.letters.value}
          onChange={(event) => (s.letters.value = event.currentTarget.checked)}
        />
        <span>Single letters are keys</span>
      </label>
    </Dialog>
  );
}
