"""Facet learns what images are made of.

    import facet
    model = facet.load("models/portraits")
    images = model.sample(16, glasses="with")        # uint8 [16, 32, 32, 3]
    model.predict(images)["glasses"]                 # ["with", "with", ...]
    happy = model.edit(images, smile="smiling")      # the same faces, smiling

`facet.train` trains a model; `facet.FactorialMixture` is its mixture alone, a scikit-learn estimator for vectors.
Mistakes are `facet.Error`, a ValueError with one sentence that says what was found and what was expected.
"""

from ._facet import Error, __version__
from ._model import Encoding, Factor, Model, load
from ._training import train, write_pack

__all__ = ["Encoding", "Error", "Factor", "FactorialMixture", "Model", "load", "train", "write_pack", "__version__"]


def __getattr__(name):
    # Importing scikit-learn takes a second; those who use no estimator do not wait for it.
    if name == "FactorialMixture":
        from ._mixture import FactorialMixture
        return FactorialMixture
    raise AttributeError(f"module 'facet' has no attribute '{name}'")
