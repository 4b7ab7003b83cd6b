package hf

// Tower names one of the encoders of a model that has several; models with one
// have the empty name.
type Tower string

// The towers of models of texts and images.
const (
	TowerText   Tower = "text"
	TowerVision Tower = "vision"
)

// The outputs of towers, float32 [batch, width], in a shared space.
const (
	TextEmbeds  = "text_embeds"
	ImageEmbeds = "image_embeds"
)

// imagePooled is the output of a vision tower without a projection, float32 [batch, hidden]: the hidden state of the
// class token after its norm.
const imagePooled = "pooler_output"

// PixelValues is the input of a vision tower: float32 [batch, 3, size, size],
// scaled as preprocessor_config.json says.
const PixelValues = "pixel_values"
