"""A page as plain data: what it says, before anybody decides how it looks."""

from typing import TYPE_CHECKING

from ensemblage.messages import lazy_door

if TYPE_CHECKING:
    from ensemblage.pages._drawn_names import INK as INK
    from ensemblage.pages._drawn_names import printable as printable
    from ensemblage.pages._fields import MINUS as MINUS
    from ensemblage.pages._fields import NOTHING as NOTHING
    from ensemblage.pages._fields import count_field as count_field
    from ensemblage.pages._fields import mark_best as mark_best
    from ensemblage.pages._fields import mark_best_of as mark_best_of
    from ensemblage.pages._fields import number_field as number_field
    from ensemblage.pages._fields import share_field as share_field
    from ensemblage.pages._fields import signed_field as signed_field
    from ensemblage.pages._figure_parts import Card as Card
    from ensemblage.pages._figure_parts import CardsBlock, RanksBlock, ShadesBlock, TreeBlock
    from ensemblage.pages._figure_parts import Ranked as Ranked
    from ensemblage.pages._figure_parts import Shade as Shade
    from ensemblage.pages._html_table import html_table as html_table
    from ensemblage.pages._map_parts import MapBlock, MapPanel
    from ensemblage.pages._map_parts import Outline as Outline
    from ensemblage.pages._map_parts import Point as Point
    from ensemblage.pages._network_arrows import Arrow as Arrow
    from ensemblage.pages._network_arrows import Box as Box
    from ensemblage.pages._network_drawing import FONT as FONT
    from ensemblage.pages._network_drawing import HEAD as HEAD
    from ensemblage.pages._network_drawing import LINE as LINE
    from ensemblage.pages._network_drawing import NetworkDrawing as NetworkDrawing
    from ensemblage.pages._network_drawing import arrow_width as arrow_width
    from ensemblage.pages._network_drawing import draw_network as draw_network
    from ensemblage.pages._page_parts import (
        Bar,
        BarsBlock,
        Column,
        FactsBlock,
        Field,
        FigureBlock,
        NetworkBlock,
        NotesBlock,
        Page,
        Section,
        TableBlock,
        TextBlock,
    )
    from ensemblage.pages._page_parts import Block as Block
    from ensemblage.pages._text_table import fold_sentence as fold_sentence
    from ensemblage.pages._text_table import text_table as text_table
    from ensemblage.pages._text_table import text_width as text_width
    from ensemblage.pages._tree_drawing import BAR as BAR
    from ensemblage.pages._tree_drawing import DOT as DOT
    from ensemblage.pages._tree_drawing import SMALL as SMALL
    from ensemblage.pages._tree_drawing import PlacedNode as PlacedNode
    from ensemblage.pages._tree_drawing import TreeDrawing as TreeDrawing
    from ensemblage.pages._tree_drawing import TreeNode
    from ensemblage.pages._tree_drawing import draw_tree as draw_tree
    from ensemblage.pages._tree_svg import CLASS_COLOURS as CLASS_COLOURS
    from ensemblage.pages._tree_svg import tree_html as tree_html
    from ensemblage.pages._tree_svg import tree_svg as tree_svg
    from ensemblage.pages._wrapped_names import pieces_of as pieces_of
else:
    __getattr__, __dir__ = lazy_door(__name__, __file__)

__all__ = [
    "Bar",
    "BarsBlock",
    "CardsBlock",
    "Column",
    "FactsBlock",
    "Field",
    "FigureBlock",
    "MapBlock",
    "MapPanel",
    "NetworkBlock",
    "NotesBlock",
    "Page",
    "RanksBlock",
    "Section",
    "ShadesBlock",
    "TableBlock",
    "TextBlock",
    "TreeBlock",
    "TreeNode",
]
