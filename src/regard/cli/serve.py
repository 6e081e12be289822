"""`regard serve`: models over HTTP."""

from typing import Any

import click

from regard.cli import declare

reached = declare.section("Who may ask")
limited = declare.section("Limits")
spread = declare.section("Several machines")


@declare.command("""
  regard serve demo-de
  regard serve demo-de demo-hi minilm --port 8001
  regard serve --name en-fr=runs/french --name en-de=demo-de
  regard serve demo-de --keys keys.txt --new-key ada
  regard serve demo-de --host 0.0.0.0 --keys keys.txt --tls-cert cert.pem --tls-key key.pem
  regard serve demo-de --ray --replicas 1-4
  curl http://127.0.0.1:8000/translate -d q=Hello. -d source=en -d target=de""")
@click.argument("models", nargs=-1)
@click.option("--name", "named", multiple=True, metavar="NAME=MODEL", help="A model by this name.")
@declare.path("--index", help="What /v1/search searches: made by `regard index`.")
@declare.flag("--exact", help="Only answers that are byte for byte those of a single request.")
@reached("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@reached(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any free."
)
@reached("--keys", type=declare.PATH, help="Ask for a key of this file.")
@reached("--new-key", metavar="NAME", help="Add a key to --keys, print it, and end.")
@reached("--open-to-everyone", is_flag=True, help="Beyond this machine without keys.")
@reached("--allow-host", multiple=True, help="A name that clients may call the server by.")
@reached("--cors", multiple=True, metavar="ORIGIN", help="Pages of this origin may ask.")
@reached("--tls-cert", type=declare.PATH, help="Certificate, for https.")
@reached("--tls-key", type=declare.PATH, help="Its key.")
@limited("--deadline", type=float, help="Seconds that a request may take.  [default: 30]")
@limited("--max-requests", type=click.IntRange(min=1), help="Of a model at once; then 429.")
@limited("--max-tokens", type=click.IntRange(min=1), help="Of these requests, about; then 429.")
@limited("--max-body", type=click.IntRange(min=1), help="Bytes of a request.")
@limited("--slots", type=click.IntRange(1, 4096), help="Sentences that a worker has at once.")
@limited("--drain", type=float, help="Seconds to answer what was taken on, at the end.")
@spread("--ray", "on_ray", is_flag=True, help="As replicas of Ray Serve (docs/deploy.md).")
@spread("--replicas", metavar="N", help="So many, or as many as are needed: 1-4.  [default: 1]")
@declare.engines()
@declare.choice("--log", among=["text", "json", "off"], help="A line for each request.")
@declare.json("The line that says where, as JSON; and the log.")
def command(models: tuple[str, ...], named: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Serve MODELS over HTTP, in the dialects of LibreTranslate and OpenAI and in regard's own.

    MODEL is a model in the box (`regard models`), a run, a published folder or a name of the hub.
    Each has a process of its own, and is called by its folder's name, or as --name says; a name
    like en-de tells the languages. When all are ready one line says where. SIGTERM and Ctrl-C
    answer what was taken on, and end.
    """
    from regard.serve.keys import add_key
    from regard.valid_json import valid_json

    on_ray, replicas = given.pop("on_ray"), given.pop("replicas")
    if replicas is not None and not on_ray:
        raise click.UsageError("--replicas needs --ray; without it, see docs/deploy.md for nginx")
    new_key, keys = given.pop("new_key"), given["keys"]
    if new_key is not None:
        if keys is None:
            raise click.UsageError("--new-key needs --keys FILE, which it is added to")
        key = add_key(keys, new_key)
        click.echo(valid_json({"key": key, "whose": new_key}) if as_json else key)
        return
    options = _options(models, named, given, as_json)
    from regard.serve.lifecycle import run_server

    def say(address: str, line: str) -> None:
        click.echo(valid_json({"serving": address}) if as_json else line)

    if on_ray:
        from regard.serve.on_ray import run_on_ray
        from regard.serve.options import read_replicas

        run_on_ray(options, read_replicas(replicas or "1"), say)
    else:
        run_server(options, say)


def _options(
    models: tuple[str, ...], named: tuple[str, ...], given: dict[str, Any], as_json: bool
) -> Any:
    from regard.serve.options import ServeLimits, ServeOptions, model_to_serve

    served = [model_to_serve(place) for place in models]
    for pair in named:
        name, equals, place = pair.partition("=")
        if not (name and equals and place):
            raise click.UsageError(f"--name: got {pair!r}, expected NAME=MODEL")
        served.append(model_to_serve(place, name))
    names = {"max_requests": "requests", "max_tokens": "tokens", "max_body": "body"}
    limits: dict[str, Any] = {
        names.get(option, option): given.pop(option)
        for option in ("deadline", "max_requests", "max_tokens", "max_body", "slots", "drain")
    }
    log = given.pop("log")
    return ServeOptions(
        tuple(served),
        engine=declare.engine_request(given),
        limits=ServeLimits(**{name: value for name, value in limits.items() if value is not None}),
        tls_certificate=given.pop("tls_cert"),
        allow_hosts=given.pop("allow_host"),
        log="json" if as_json and log == "text" else log,
        **given,
    )
