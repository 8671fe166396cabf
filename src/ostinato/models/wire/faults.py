"""What conversions raise: the adapter that called them adds provider and model."""


class Unsendable(Exception):
    """A request holds something that this API cannot be sent; the message names it and a remedy."""


class BadAnswer(Exception):
    """An answer is cut off or is not in the API's format.

    Args:
      detail: what is wrong with it.
      retryable: False where the same would come again.
    """

    def __init__(self, detail: str, *, retryable: bool = True) -> None:
        super().__init__(detail)
        self.retryable = retryable
