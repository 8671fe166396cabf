"""The stores that the tests of this folder run over."""

from tests.unit.flows.kit import memory as memory
from tests.unit.flows.kit import store as store
