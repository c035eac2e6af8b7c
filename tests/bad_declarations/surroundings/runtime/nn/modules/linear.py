"""A module without generated classes. Never imported."""


class Linear: ...
