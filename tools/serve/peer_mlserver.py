"""A runtime of MLServer that runs a policy by ONNX Runtime, for a comparison of speed: MLServer has none for ONNX."""

import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse


class Policy(MLModel):
    async def load(self):
        o = onnxruntime.SessionOptions()
        o.intra_op_num_threads = o.inter_op_num_threads = 1  # as fast as any number on one row, and as pipe runs it
        self.session = onnxruntime.InferenceSession(self.settings.parameters.uri, o)
        return True

    async def predict(self, payload):
        answers = self.session.run(None, {i.name: NumpyCodec.decode_input(i) for i in payload.inputs})
        outputs = [NumpyCodec.encode_output(about.name, answer) for about, answer in zip(self.session.get_outputs(), answers)]
        return InferenceResponse(model_name=self.name, outputs=outputs)
