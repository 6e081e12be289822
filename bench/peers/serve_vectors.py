"""A plain server of vectors: FastAPI around sentence-transformers, as one would write it first."""

import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer


class Asked(BaseModel):
    """The body of a request."""

    input: str | list[str]
    model: str = ""


def main() -> None:
    model, app = SentenceTransformer(sys.argv[1], device="cpu"), FastAPI()

    @app.post("/v1/embeddings")
    def embeddings(asked: Asked) -> dict[str, object]:
        texts = [asked.input] if isinstance(asked.input, str) else asked.input
        rows = model.encode(texts).tolist()
        return {"data": [{"index": n, "embedding": row} for n, row in enumerate(rows)]}

    config = uvicorn.Config(app, port=0, log_level="critical", access_log=False)
    server = uvicorn.Server(config)
    config.load()
    bound = config.bind_socket()
    print(f"Serving at http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
    server.run(sockets=[bound])


if __name__ == "__main__":
    main()
