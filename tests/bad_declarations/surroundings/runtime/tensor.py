"""What a Tensor has by hand. Never imported."""


class Tensor:
    def conj(self): ...

    def stride(self): ...
