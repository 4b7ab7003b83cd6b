"""KServe's own Python server with ONNX Runtime, for a comparison of speed.

    peer_kserve.py POLICY.onnx PORT GRPC_PORT WORKERS
"""

import logging
import sys

import kserve
import onnxruntime

types = {"tensor(float)": "FP32", "tensor(int64)": "INT64", "tensor(bool)": "BOOL"}


class Policy(kserve.Model):
    def __init__(self, name, path):
        super().__init__(name)
        self.path, self.session = path, None
        self.ready = True

    def open(self):
        """Opens the session in the process that uses it: it cannot be given to another."""
        o = onnxruntime.SessionOptions()
        o.intra_op_num_threads = o.inter_op_num_threads = 1  # as fast as any number on one row, and as pipe runs it
        self.session = onnxruntime.InferenceSession(self.path, o)

    def predict(self, payload, headers=None, response_headers=None):
        if self.session is None:
            self.open()
        answers = self.session.run(None, {i.name: i.as_numpy() for i in payload.inputs})
        outputs = []
        for about, answer in zip(self.session.get_outputs(), answers):
            o = kserve.InferOutput(about.name, list(answer.shape), types[about.type])
            o.set_data_from_numpy(answer, binary_data=False)
            outputs.append(o)
        return kserve.InferResponse(response_id=payload.id, model_name=self.name, infer_outputs=outputs)


if __name__ == "__main__":
    path, port, grpc_port, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    logging.disable(logging.WARNING)  # no line for each request
    server = kserve.ModelServer(
        http_port=port, grpc_port=grpc_port, workers=workers, enable_grpc=workers == 1, enable_latency_logging=False,
        access_log_format="",
    )
    server.start([Policy("router", path)])
