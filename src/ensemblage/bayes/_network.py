"""Discrete Bayesian networks: nodes, arcs, tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ensemblage._core import set_module
from ensemblage.bayes._coding import MAX_ENTRIES, ProbabilityTable, check_entries
from ensemblage.bayes._exchange import read_bif, read_xmlbif, write_bif, write_xmlbif


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


@set_module("ensemblage.bayes")
class BayesNetwork:
    """A discrete Bayesian network, independent of the data to which it was fitted.

    Parameters
    ----------
    states : dict of str to list of str
        States of each node.
    tables : dict of str to ProbabilityTable
        Parents and probabilities of each node.
    max_entries : int
        Maximal number of entries of a full table.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.bayes import BayesNetwork, ProbabilityTable
    >>> rain = BayesNetwork(
    ...     {"rain": ["no", "yes"], "wet": ["no", "yes"]},
    ...     {
    ...         "rain": ProbabilityTable([], np.zeros((1, 0), int), np.array([[0.8, 0.2]])),
    ...         "wet": ProbabilityTable(
    ...             ["rain"], np.array([[0], [1]]), np.array([[0.9, 0.1], [0.1, 0.9]])
    ...         ),
    ...     },
    ... )
    >>> rain.edges
    [('rain', 'wet')]
    >>> rain.table("wet")[1, 1]
    np.float64(0.9)
    """

    def __init__(
        self,
        states: dict[str, list[str]],
        tables: dict[str, ProbabilityTable],
        max_entries: int = MAX_ENTRIES,
    ) -> None:
        self.states = states
        self.tables = tables
        self.max_entries = max_entries

    def __repr__(self) -> str:
        return f"BayesNetwork({len(self.nodes)} nodes, {len(self.edges)} edges)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BayesNetwork):
            return NotImplemented
        return (
            self.states == other.states
            and self.parents == other.parents
            and all(np.array_equal(self.table(n), other.table(n)) for n in self.nodes)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def nodes(self) -> list[str]:  # numpydoc ignore=RT01
        """Names of the nodes."""
        return list(self.states)

    @property
    def parents(self) -> dict[str, list[str]]:  # numpydoc ignore=RT01
        """Names of each node's parents."""
        return {name: list(self.tables[name].parents) for name in self.nodes}

    @property
    def edges(self) -> list[tuple[str, str]]:  # numpydoc ignore=RT01
        """Pairs of parent and child."""
        return [(p, name) for name in self.nodes for p in self.tables[name].parents]

    def children(self, node: str) -> list[str]:
        """List the children of a node.

        Parameters
        ----------
        node : str
            Name of the node.

        Returns
        -------
        list of str
            Names of its children.
        """
        self._check_node(node)
        return [name for name in self.nodes if node in self.tables[name].parents]

    def markov_blanket(self, node: str) -> list[str]:
        """List the Markov blanket: given these nodes, a node is independent of all others.

        Parameters
        ----------
        node : str
            Name of the node.

        Returns
        -------
        list of str
            Parents, children, and the children's other parents, in the order of the nodes.
        """
        children = self.children(node)
        blanket = {*self.tables[node].parents, *children}
        for child in children:
            blanket.update(self.tables[child].parents)
        return [name for name in self.nodes if name in blanket - {node}]

    def table(self, node: str) -> NDArray[np.float64]:
        """Return a node's full table.

        Parameters
        ----------
        node : str
            Name of the node.

        Returns
        -------
        ndarray of shape (n_states of each parent, ..., n_states)
            Probabilities; one distribution along the last axis per configuration.
        """
        self._check_node(node)
        table = self.tables[node]
        shape = [len(self.states[name]) for name in (*table.parents, node)]
        check_entries(int(np.prod(shape, dtype=object)), self.max_entries, node, table.parents)
        full = np.full(shape, 1.0 / shape[-1])
        full[tuple(np.asarray(table.configurations, dtype=int).T)] = table.probabilities
        return full

    def sample(self, n_samples: int = 1, random_state: Any = None) -> dict[str, NDArray[np.int64]]:
        """Draw rows from the joint distribution, parents before children.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Controls the sampling.

        Returns
        -------
        dict of str to ndarray of shape (n_samples,)
            Indices of each node's states.
        """
        rng = check_random_state(random_state)
        drawn: dict[str, NDArray[np.int64]] = {}
        for name in self.topological_order():
            table = self.tables[name]
            given = np.array([drawn[p] for p in table.parents], dtype=np.int64)
            probabilities = table.given(given.reshape(len(given), n_samples).T)
            cumulative = np.cumsum(probabilities, axis=1)
            quantiles = rng.uniform(size=(n_samples, 1)) * cumulative[:, -1:]
            drawn[name] = np.minimum(
                (cumulative <= quantiles).sum(axis=1), probabilities.shape[1] - 1
            )
        return {name: drawn[name] for name in self.nodes}

    def topological_order(self) -> list[str]:
        """List the nodes in topological order, parents before children.

        Returns
        -------
        list of str
            All nodes.
        """
        order: list[str] = []
        waiting = self.nodes
        while waiting:
            ready = [n for n in waiting if set(self.tables[n].parents) <= set(order)]
            if not ready:
                raise ValueError(f"The nodes {waiting} form a cycle; a network must be acyclic.")
            order += ready
            waiting = [name for name in waiting if name not in order]
        return order

    def to_networkx(self) -> Any:
        """Convert the graph to networkx, with states and tables as node attributes.

        Returns
        -------
        networkx.DiGraph
            Node attributes ``states`` and ``table``.
        """
        try:
            import networkx as nx  # noqa: PLC0415
        except ImportError as error:
            raise ImportError("to_networkx needs networkx; install it, or use to_dot.") from error
        graph = nx.DiGraph()
        for name in self.nodes:
            graph.add_node(name, states=list(self.states[name]), table=self.tables[name])
        graph.add_edges_from(self.edges)
        return graph

    def to_dot(self, highlight: str | None = None) -> str:
        """Write the graph as Graphviz text.

        Parameters
        ----------
        highlight : str, default=None
            A node to draw with a double border, such as the class.

        Returns
        -------
        str
            Input of ``dot``.
        """
        lines = ["digraph network {", "  node [shape=ellipse];"]
        for name in self.nodes:
            mark = " [peripheries=2]" if name == highlight else ""
            lines.append(f"  {_quote(name)}{mark};")
        lines += [f"  {_quote(parent)} -> {_quote(child)};" for parent, child in self.edges]
        return "\n".join([*lines, "}", ""])

    def to_xmlbif(self) -> str:
        """Write the network as XMLBIF 0.3.

        Returns
        -------
        str
            The document. Probabilities have full precision, so that reading it gives the same
            network.
        """
        return write_xmlbif(self)

    @classmethod
    def from_xmlbif(cls, text: str) -> BayesNetwork:
        """Read a network from XMLBIF.

        Parameters
        ----------
        text : str
            The document; documents that declare entities are refused.

        Returns
        -------
        BayesNetwork
            The network.
        """
        return cls(*read_xmlbif(text))

    def to_bif(self) -> str:
        """Write the network in the Bayesian interchange format.

        Returns
        -------
        str
            The document. Characters outside ``[A-Za-z0-9_]`` are escaped as ``_xHEX_``;
            ``from_bif`` unescapes them.
        """
        return write_bif(self)

    @classmethod
    def from_bif(cls, text: str) -> BayesNetwork:
        """Read a network from the Bayesian interchange format.

        Parameters
        ----------
        text : str
            The document.

        Returns
        -------
        BayesNetwork
            The network.
        """
        return cls(*read_bif(text))

    def _check_node(self, node: str) -> None:
        if node not in self.states:
            raise ValueError(f"node must be one of {self.nodes}, got {node!r}.")
