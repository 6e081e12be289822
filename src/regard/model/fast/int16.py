"""Products in 16-bit integers: on processors with AVX2 but nothing newer, twice as fast as fp32.

    X ≈ diag(r) A,   W ≈ B diag(c)        A, B of int16:  X W ≈ diag(r) (A B) diag(c)

One instruction (vpmaddwd) multiplies 16 pairs of int16 and adds neighbours into 8 int32; the one
for fp32 multiplies 8. A row of X, and a column of W, is scaled so that its length is 46,000 (and
no number is above 32,767). By Cauchy and Schwarz |a · b| ≤ |a| |b| < 2³¹: no sum, and no part of
one, can overflow, whatever the numbers are. About 12 bits of each number are kept, so a product is
right to some 0.02 %.

The two loops are written in LLVM's language and compiled when they are first used, by llvmlite
(extra `fast`). A tile of 6 rows and 16 columns stays in registers: 12 sums, 2 pieces of B, a number
of A and a product are the 16 that there are.
"""

import ctypes
import platform
import struct
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from regard.processor.simulate import forbid
from regard.processor.survives import ruled_out

LENGTH = 46_000.0  # of a row or column in integers; its square, with rounding, is below 2³¹
LARGEST = 32_767.0
ROWS, COLUMNS = 6, 16  # of a tile
BLOCK = 96  # rows that meet a panel of B while it is in the nearest cache
MULTIPLE = 16  # of all sizes


def is_offered() -> bool:
    """Whether this machine gains by it and survives it, and llvmlite is there."""
    right = platform.machine() in ("x86_64", "AMD64") and find_spec("llvmlite") is not None
    gains = right and torch.backends.cpu.get_cpu_capability() == "AVX2"
    return gains and not ruled_out("int16")


class Int16Weight:
    """W (K, N) in integers, laid out as the loops read it, and the product with it."""

    def __init__(self, weight: Float[Tensor, "K N"]) -> None:
        forbid("int16")
        inner, outer = weight.shape
        assert inner % MULTIPLE == 0 and outer % MULTIPLE == 0, (inner, outer)
        self.shape = (inner, outer)
        wide = weight.double()
        factor = torch.minimum(
            LENGTH / wide.norm(dim=0).clamp(min=1e-30),
            LARGEST / wide.abs().amax(dim=0).clamp(min=1e-30),
        )
        whole = (wide * factor).round().to(torch.int16)
        panels = whole.view(inner // 2, 2, outer // COLUMNS, COLUMNS).permute(2, 0, 3, 1)
        self._panels, self._scale = panels.contiguous(), (1 / factor).float().contiguous()
        self._none = torch.zeros(outer)
        self._loops = _loops()  # compiled here, before threads use them

    def product(
        self,
        x: Float[Tensor, "T K"],
        bias: Float[Tensor, " N"] | None = None,
        base: Float[Tensor, "T N"] | None = None,
    ) -> Float[Tensor, "T N"]:
        """x W + b, and + base where there is one."""
        inner, outer = self.shape
        rows = -(-len(x) // ROWS) * ROWS
        whole = torch.empty(rows, inner, dtype=torch.int16)
        whole[len(x) :] = 0
        scale = torch.zeros(rows)
        x = x.contiguous()
        self._loops.quantise(x.data_ptr(), whole.data_ptr(), scale.data_ptr(), len(x), inner)
        out = torch.empty(rows, outer)
        if base is not None:
            out[: len(x)] = base
        multiply = self._loops.multiply if base is None else self._loops.multiply_and_add
        multiply(
            whole.data_ptr(),
            self._panels.data_ptr(),
            out.data_ptr(),
            scale.data_ptr(),
            self._scale.data_ptr(),
            (self._none if bias is None else bias).data_ptr(),
            rows,
            outer,
            inner // 2,
        )
        return out[: len(x)]


def trial() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For processor/child.py: products by the loops, and what is right."""
    x, weight, base = (
        torch.randn(96, 96, generator=torch.Generator().manual_seed(n)) for n in range(3)
    )
    quantised = Int16Weight(weight)
    got = torch.cat([quantised.product(x, base[0]), quantised.product(x[:5], None, base[:5])])
    x, weight, base = x.double(), weight.double(), base.double()
    right = torch.cat([x @ weight + base[0], x[:5] @ weight + base[:5]])
    return got.double().numpy(), right.numpy()


class _Loops:
    """The compiled loops; the engine that holds their code must live as long as they do."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(cpu="x86-64-v3", opt=3)
        module = llvm.parse_assembly("\n".join((DECLARED, QUANTISE, multiply(), multiply(True))))
        module.verify()
        self._engine: Any = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        self.quantise = self._function("quantise", 3, 2)
        self.multiply = self._function("multiply", 6, 3)
        self.multiply_and_add = self._function("multiply_and_add", 6, 3)

    def _function(self, name: str, pointers: int, numbers: int) -> Callable[..., None]:
        kinds = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * numbers
        function: Callable[..., None] = ctypes.CFUNCTYPE(None, *kinds)(
            self._engine.get_function_address(name)
        )
        return function


@cache
def _loops() -> _Loops:
    return _Loops()


DECLARED = """
declare <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16>, <16 x i16>)
declare <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x float> @llvm.fabs.v8f32(<8 x float>)
declare <8 x float> @llvm.maxnum.v8f32(<8 x float>, <8 x float>)
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)
declare float @llvm.vector.reduce.fmax.v8f32(<8 x float>)
declare float @llvm.sqrt.f32(float)
declare float @llvm.minnum.f32(float, float)
"""
HALVES = ", ".join(f"i32 {n}" for n in range(16))
SPLAT = "<8 x i32> zeroinitializer"  # every place takes number 0


def _float(value: float) -> str:
    """A float as LLVM writes one."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


# For each row: its length and largest number, then the row in integers and its scale.
QUANTISE = f"""
define void @quantise(ptr noalias %x, ptr noalias %q, ptr noalias %s, i64 %rows, i64 %k) {{
start:
  %any = icmp sgt i64 %rows, 0
  br i1 %any, label %row, label %end
row:
  %i = phi i64 [0, %start], [%i1, %written]
  %at = mul i64 %i, %k
  %xr = getelementptr float, ptr %x, i64 %at
  %qr = getelementptr i16, ptr %q, i64 %at
  br label %look
look:
  %j = phi i64 [0, %row], [%j1, %look]
  %sum = phi <8 x float> [zeroinitializer, %row], [%sum1, %look]
  %most = phi <8 x float> [zeroinitializer, %row], [%most1, %look]
  %xp = getelementptr float, ptr %xr, i64 %j
  %v = load <8 x float>, ptr %xp, align 4
  %sum1 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v, <8 x float> %v, <8 x float> %sum)
  %size = call <8 x float> @llvm.fabs.v8f32(<8 x float> %v)
  %most1 = call nnan <8 x float> @llvm.maxnum.v8f32(<8 x float> %size, <8 x float> %most)
  %j1 = add i64 %j, 8
  %more = icmp slt i64 %j1, %k
  br i1 %more, label %look, label %looked
looked:
  %square = call reassoc float @llvm.vector.reduce.fadd.v8f32(float 0.0, <8 x float> %sum1)
  %root = call float @llvm.sqrt.f32(float %square)
  %large = call nnan float @llvm.vector.reduce.fmax.v8f32(<8 x float> %most1)
  %by_length = fdiv float {_float(LENGTH)}, %root
  %by_size = fdiv float {_float(LARGEST)}, %large
  %both = call float @llvm.minnum.f32(float %by_length, float %by_size)
  %zero = fcmp oeq float %root, 0.0
  %factor = select i1 %zero, float 1.0, float %both
  %scale = fdiv float 1.0, %factor
  %sp = getelementptr float, ptr %s, i64 %i
  store float %scale, ptr %sp
  %f0 = insertelement <8 x float> poison, float %factor, i32 0
  %f = shufflevector <8 x float> %f0, <8 x float> poison, {SPLAT}
  br label %write
write:
  %w = phi i64 [0, %looked], [%w1, %write]
  %w8 = add i64 %w, 8
  %p0 = getelementptr float, ptr %xr, i64 %w
  %p1 = getelementptr float, ptr %xr, i64 %w8
  %v0 = load <8 x float>, ptr %p0, align 4
  %v1 = load <8 x float>, ptr %p1, align 4
  %m0 = fmul <8 x float> %v0, %f
  %m1 = fmul <8 x float> %v1, %f
  %r0 = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %m0)
  %r1 = call <8 x i32> @llvm.x86.avx.cvt.ps2dq.256(<8 x float> %m1)
  %r = shufflevector <8 x i32> %r0, <8 x i32> %r1, <16 x i32> <{HALVES}>
  %t = trunc <16 x i32> %r to <16 x i16>
  %qp = getelementptr i16, ptr %qr, i64 %w
  store <16 x i16> %t, ptr %qp, align 2
  %w1 = add i64 %w, 16
  %left = icmp slt i64 %w1, %k
  br i1 %left, label %write, label %written
written:
  %i1 = add i64 %i, 1
  %again = icmp slt i64 %i1, %rows
  br i1 %again, label %row, label %end
end:
  ret void
}}"""


def multiply(add: bool = False) -> str:
    """C = diag(r) (A B) diag(c) + b, or added to what C holds; rows in blocks, panels, tiles."""
    tile = [(r, c) for r in range(ROWS) for c in range(COLUMNS // 8)]
    sums = [
        f"  %s{r}{c} = phi <8 x i32> [zeroinitializer, %tile], [%n{r}{c}, %inner]" for r, c in tile
    ]
    begin = [
        f"  %ao{r} = mul i64 %i_{r}, %k2\n  %a{r} = getelementptr i32, ptr %a, i64 %ao{r}"
        for r in range(ROWS)
    ]
    rows = [f"  %i_{r} = add i64 %i, {r}" for r in range(ROWS)]
    steps = []
    for r in range(ROWS):
        steps.append(f"""  %ap{r} = getelementptr i32, ptr %a{r}, i64 %p
  %x{r} = load i32, ptr %ap{r}, align 4
  %y{r} = insertelement <8 x i32> poison, i32 %x{r}, i32 0
  %z{r} = shufflevector <8 x i32> %y{r}, <8 x i32> poison, {SPLAT}
  %q{r} = bitcast <8 x i32> %z{r} to <16 x i16>""")
        steps += [
            f"  %m{r}{c} = call <8 x i32> @llvm.x86.avx2.pmadd.wd(<16 x i16> %q{r}, "
            f"<16 x i16> %b{c})\n  %n{r}{c} = add <8 x i32> %s{r}{c}, %m{r}{c}"
            for c in range(COLUMNS // 8)
        ]
    end = [_epilogue(r, c, add) for r, c in tile]
    scales = [
        f"  %sp{r} = getelementptr float, ptr %sa, i64 %i_{r}\n  %sl{r} = load float, ptr %sp{r}\n"
        f"  %si{r} = insertelement <8 x float> poison, float %sl{r}, i32 0\n"
        f"  %sr{r} = shufflevector <8 x float> %si{r}, <8 x float> poison, {SPLAT}"
        for r in range(ROWS)
    ]
    text = {"ROWS": rows, "BEGIN": begin, "SUMS": sums, "STEPS": steps, "SCALES": scales}
    assembly = MULTIPLY.replace("NAME", "multiply_and_add" if add else "multiply")
    for name, lines in (text | {"END": end}).items():
        assembly = assembly.replace(f"  {name}\n", "\n".join(lines) + "\n")
    return assembly


def _epilogue(r: int, c: int, add: bool) -> str:
    """One eighth of a tile's row: integers to floats, scaled, shifted, written."""
    lines = [
        f"%f{r}{c} = sitofp <8 x i32> %n{r}{c} to <8 x float>",
        f"%g{r}{c} = fmul <8 x float> %f{r}{c}, %cs{c}",
        f"%h{r}{c} = call <8 x float> @llvm.fma.v8f32(<8 x float> %g{r}{c}, <8 x float> %sr{r}, "
        f"<8 x float> %bb{c})",
        f"%co{r}{c} = mul i64 %i_{r}, %n",
        f"%cj{r}{c} = add i64 %co{r}{c}, %j",
        f"%ck{r}{c} = add i64 %cj{r}{c}, {8 * c}",
        f"%cp{r}{c} = getelementptr float, ptr %c, i64 %ck{r}{c}",
    ]
    value = f"%h{r}{c}"
    if add:
        value = f"%v{r}{c}"
        lines += [
            f"%u{r}{c} = load <8 x float>, ptr %cp{r}{c}, align 4",
            f"{value} = fadd <8 x float> %u{r}{c}, %h{r}{c}",
        ]
    lines.append(f"store <8 x float> {value}, ptr %cp{r}{c}, align 4")
    return "\n".join(f"  {line}" for line in lines)


MULTIPLY = f"""
define void @NAME(ptr noalias %a, ptr noalias %b, ptr noalias %c, ptr noalias %sa, ptr noalias %sb,
                  ptr noalias %bias, i64 %m, i64 %n, i64 %k2) {{
start:
  %any = icmp sgt i64 %m, 0
  br i1 %any, label %block, label %end
block:
  %first = phi i64 [0, %start], [%last, %blocked]
  %further = add i64 %first, {BLOCK}
  %whole = icmp slt i64 %further, %m
  %last = select i1 %whole, i64 %further, i64 %m
  br label %panel
panel:
  %j = phi i64 [0, %block], [%j1, %panelled]
  %jk = mul i64 %j, %k2
  %bp = getelementptr i32, ptr %b, i64 %jk
  br label %tile
tile:
  %i = phi i64 [%first, %panel], [%i1, %tiled]
  ROWS
  BEGIN
  br label %inner
inner:
  %p = phi i64 [0, %tile], [%p1, %inner]
  SUMS
  %bo = mul i64 %p, {2 * COLUMNS}
  %bq = getelementptr i16, ptr %bp, i64 %bo
  %b0 = load <16 x i16>, ptr %bq, align 32
  %br = getelementptr i16, ptr %bq, i64 16
  %b1 = load <16 x i16>, ptr %br, align 32
  STEPS
  %p1 = add i64 %p, 1
  %more = icmp slt i64 %p1, %k2
  br i1 %more, label %inner, label %tiled
tiled:
  %cs_p = getelementptr float, ptr %sb, i64 %j
  %cs0 = load <8 x float>, ptr %cs_p, align 4
  %cs_q = getelementptr float, ptr %cs_p, i64 8
  %cs1 = load <8 x float>, ptr %cs_q, align 4
  %bb_p = getelementptr float, ptr %bias, i64 %j
  %bb0 = load <8 x float>, ptr %bb_p, align 4
  %bb_q = getelementptr float, ptr %bb_p, i64 8
  %bb1 = load <8 x float>, ptr %bb_q, align 4
  SCALES
  END
  %i1 = add i64 %i, {ROWS}
  %below = icmp slt i64 %i1, %last
  br i1 %below, label %tile, label %panelled
panelled:
  %j1 = add i64 %j, {COLUMNS}
  %right = icmp slt i64 %j1, %n
  br i1 %right, label %panel, label %blocked
blocked:
  %rest = icmp slt i64 %last, %m
  br i1 %rest, label %block, label %end
end:
  ret void
}}"""
