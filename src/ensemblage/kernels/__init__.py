"""Pure numeric functions: validated arrays in, arrays out."""

from ensemblage.kernels._compile import CompiledKernel, compiled

__all__ = ["CompiledKernel", "compiled"]
