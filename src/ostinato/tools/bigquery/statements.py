"""SQL of the BigQuery tools that write their own; names and texts of the model are quoted."""

from __future__ import annotations

from collections.abc import Sequence

_MODEL = "TimesFM 2.0"
_CONFIDENCE = 0.95
_PRUNING = ("NO_PRUNING", "PRUNE_REDUNDANT_INSIGHTS")


def write_forecast(
    history: str, timestamp_col: str, data_col: str, horizon: int, id_cols: Sequence[str] | None
) -> str:
    """Return the query of a forecast.

    Raises:
      ValueError: a name cannot be one.
    """
    source = f"({history})" if _is_query(history) else f"TABLE {quote_name(history)}"
    options = [
        f"data_col => {quote_text(data_col)}",
        f"timestamp_col => {quote_text(timestamp_col)}",
        f"model => {quote_text(_MODEL)}",
    ]
    if id_cols:
        options.append(f"id_cols => {_quote_list('id_cols', id_cols)}")
    options += [f"horizon => {int(horizon)}", f"confidence_level => {_CONFIDENCE}"]
    return f"SELECT * FROM AI.FORECAST(\n  {source},\n  " + ",\n  ".join(options) + "\n)"


def write_contribution_training(
    model: str,
    data: str,
    metric: str,
    dimensions: Sequence[str],
    is_test_col: str,
    top_k: int,
    pruning: str,
) -> str:
    """Return the statement that makes the temporary model of a contribution analysis.

    Raises:
      ValueError: a name cannot be one, or there is no such pruning.
    """
    if pruning.upper() not in _PRUNING:
        raise ValueError(f"Invalid pruning_method: {pruning}. Use one of {', '.join(_PRUNING)}.")
    options = {
        "MODEL_TYPE": quote_text("CONTRIBUTION_ANALYSIS"),
        "CONTRIBUTION_METRIC": quote_text(metric),
        "IS_TEST_COL": quote_text(is_test_col),
        "DIMENSION_ID_COLS": _quote_list("dimension_id_cols", dimensions),
        "TOP_K_INSIGHTS_BY_APRIORI_SUPPORT": str(int(top_k)),
        "PRUNING_METHOD": quote_text(pruning.upper()),
    }
    return _write_training(model, options, data)


def write_insights_query(model: str) -> str:
    """Return the query of a contribution analysis's insights."""
    return f"SELECT * FROM ML.GET_INSIGHTS(MODEL {model})"


def write_anomaly_training(
    model: str,
    history: str,
    columns: tuple[str, str],
    horizon: int | None,
    id_cols: Sequence[str] | None,
) -> str:
    """Return the statement that makes the temporary model of time series.

    Args:
      model: its name.
      history: a table's id, or a query.
      columns: those of the timestamp and of the value.
      horizon: time steps to forecast; 1000 if None.
      id_cols: columns that identify a time series.

    Raises:
      ValueError: a name cannot be one.
    """
    options = {
        "MODEL_TYPE": quote_text("ARIMA_PLUS"),
        "TIME_SERIES_TIMESTAMP_COL": quote_text(columns[0]),
        "TIME_SERIES_DATA_COL": quote_text(columns[1]),
        "HORIZON": str(int(1000 if horizon is None else horizon)),
    }
    if id_cols:
        options["TIME_SERIES_ID_COL"] = _quote_list("times_series_id_cols", id_cols)
    return _write_training(model, options, history)


def write_anomaly_query(
    model: str,
    target: str | None,
    timestamp_col: str,
    id_cols: Sequence[str] | None,
    threshold: float | None,
) -> str:
    """Return the query of the anomalies.

    Raises:
      ValueError: a name cannot be one.
    """
    limit = float(0.95 if threshold is None else threshold)
    arguments = [f"MODEL {model}", f"STRUCT({limit} AS anomaly_prob_threshold)"]
    if target:
        arguments.append(f"({_select_from(target)})")
    order = ", ".join(quote_name(name) for name in (*(id_cols or ()), timestamp_col))
    return f"SELECT * FROM ML.DETECT_ANOMALIES({', '.join(arguments)}) ORDER BY {order}"


def quote_text(text: str) -> str:
    """Return a text as a literal of GoogleSQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r") + "'"


def quote_name(name: str) -> str:
    """Return the quoted name of a table or column.

    Raises:
      ValueError: no table or column can have this name.
    """
    bare = name.strip().strip("`")
    if not bare or any(sign in bare for sign in "`\\\n\r"):
        raise ValueError(f"{name!r} is not the name of a table or column.")
    return f"`{bare}`"


def _quote_list(parameter: str, names: Sequence[str]) -> str:
    if not all(isinstance(name, str) for name in names):  # pyright: ignore[reportUnnecessaryIsInstance] - of the model
        raise ValueError(f"All elements in {parameter} must be strings.")
    return "[" + ", ".join(map(quote_text, names)) + "]"


def _write_training(model: str, options: dict[str, str], data: str) -> str:
    given = ", ".join(f"{name} = {value}" for name, value in options.items())
    return f"CREATE TEMP MODEL {model}\n  OPTIONS ({given})\nAS {_select_from(data)}"


def _is_query(text: str) -> bool:
    return text.strip().upper().startswith(("SELECT", "WITH"))


def _select_from(data: str) -> str:
    return f"({data})" if _is_query(data) else f"SELECT * FROM {quote_name(data)}"
