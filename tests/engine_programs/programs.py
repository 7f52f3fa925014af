"""Programs of the kind that engines compile at run time, each for the architectures that it is for."""

from cutlass_programs import cutlass_programs
from further_programs import further_programs
from small_programs import cooperative_groups_programs, cub_programs, demo_programs, libcudacxx_programs


def all_programs():
    return [*cub_programs(), *cooperative_groups_programs(), *libcudacxx_programs(), *demo_programs(),
            *further_programs(), *cutlass_programs()]
