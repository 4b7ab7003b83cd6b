package featurize

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pipe/internal/digest"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/onnx/ort"
)

// MelodyModel is an encoder of melodies as it was read. A melody is a text of the notes a to g.
type MelodyModel struct {
	Name, Architecture string
	Graph              *onnx.Model // hf.NoteCounts to hf.MelodyEmbeds
	Weights            string      // digest of the files of the model
}

// ReadMelodyModel reads an encoder of melodies as ReadImageModel reads one of images.
func ReadMelodyModel(name string) (*MelodyModel, error) {
	m, err := readModel(name, modelReader[*MelodyModel]{folder: readMelodyFolder, file: ParseMelodyModel})
	if err == nil && m.Name == "" {
		m.Name = modelName(name)
	}
	return m, err
}

func readMelodyFolder(f modelFolder) (*MelodyModel, error) {
	if err := f.open(hf.TowerMelody); err != nil {
		return nil, err
	}
	graph, err := hf.Model(f.path, hf.Options{Tower: f.tower})
	if err != nil {
		return nil, err
	}
	weights, err := f.weights()
	return &MelodyModel{Architecture: f.config.ModelType, Graph: graph, Weights: weights}, err
}

// ParseMelodyModel reads a model in memory that Encoder made.
func ParseMelodyModel(graph *onnx.Model) (*MelodyModel, error) {
	info, err := infoOf(graph, InputMelody)
	return &MelodyModel{Name: info.Name, Architecture: info.Architecture, Graph: graph, Weights: info.Weights}, err
}

func (m *MelodyModel) check() error {
	if widthOf(m.Graph, hf.MelodyEmbeds) < 1 {
		return errors.New("the graph has no vectors of melodies")
	}
	return nil
}

// Info describes the encoder.
func (m *MelodyModel) Info() EncoderInfo {
	return EncoderInfo{
		Input: InputMelody, Name: m.Name, Architecture: m.Architecture, Dim: widthOf(m.Graph, hf.MelodyEmbeds), Digest: digest.Of([]byte(m.Weights)),
		Weights: m.Weights,
	}
}

// Encoder is the model as one file.
func (m *MelodyModel) Encoder() (*onnx.Model, error) {
	return encoderGraph(m.Graph, hf.MelodyEmbeds, m.Info(), nil)
}

// MelodyEncoder makes vectors of melodies.
type MelodyEncoder struct {
	info    EncoderInfo
	session *ort.Session
}

// Open loads the graph.
func (m *MelodyModel) Open(rt *ort.Runtime) (*MelodyEncoder, error) {
	graph, err := m.Graph.Marshal()
	if err != nil {
		return nil, err
	}
	s, err := rt.Session(graph, rt.SessionOptions())
	return &MelodyEncoder{m.Info(), s}, err
}

// Name is what the model is called.
func (e *MelodyEncoder) Name() string { return e.info.Name }

// Dim is the length of a vector.
func (e *MelodyEncoder) Dim() int { return e.info.Dim }

// Digest identifies what decides the vectors.
func (e *MelodyEncoder) Digest() string { return e.info.Digest }

// Close frees the model.
func (e *MelodyEncoder) Close() error { return e.session.Close() }

// Encode writes the vector of every melody into dst.
func (e *MelodyEncoder) Encode(ctx context.Context, dst []float32, melodies []string) error {
	counts := make([]float32, 7*len(melodies))
	for n, melody := range melodies {
		for _, note := range strings.Fields(melody) {
			if len(note) != 1 || note[0] < 'a' || note[0] > 'g' {
				return fmt.Errorf("%q is not a note", note)
			}
			counts[7*n+int(note[0]-'a')]++
		}
	}
	out, err := e.session.Run(ctx, map[string]*onnx.Tensor{hf.NoteCounts: onnx.Float32s([]int64{int64(len(melodies)), 7}, counts)})
	if err != nil {
		return err
	}
	copy(dst, out[hf.MelodyEmbeds].Float32s())
	return nil
}
