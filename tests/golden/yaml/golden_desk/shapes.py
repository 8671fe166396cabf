"""Types of input and output, and models that are no names."""

from golden_package import model
from pydantic import BaseModel


class Order(BaseModel):
    item: str


class Quote(BaseModel):
    """What something costs."""

    item: str
    price: float


house_model = model("priced", '{"item": "tea", "price": 3}')
