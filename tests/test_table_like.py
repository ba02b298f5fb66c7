"""What a server says of a table of the lake makes such a table: CREATE TABLE LIKE, and the text of SHOW CREATE TABLE."""
import pytest


def options_of(client, table):
    properties = client.table_info(f"fluss.{table}")[1]["properties"]
    return {key: value for key, value in properties.items() if not key.startswith("table.datalake.paimon.")}


def test_lake_tables_are_made_from_what_is_shown(server, client):
    server.sql("CREATE TABLE source (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket.num' = '2', "
               "'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1h')")
    assert "table.datalake.paimon.warehouse" in client.table_info("fluss.source")[1]["properties"]
    server.sql("CREATE TABLE copy LIKE source")
    assert options_of(client, "copy") == options_of(client, "source")
    server.sql("CREATE TABLE bare LIKE source (EXCLUDING OPTIONS)")
    assert options_of(client, "bare").get("table.datalake.enabled") != "true"
    text = server.sql("SHOW CREATE TABLE source")[0][0]
    before = options_of(client, "source")
    server.sql("DROP TABLE source")
    server.sql(text)  # Over the lake table that stayed.
    assert options_of(client, "source") == before
    server.sql("DROP TABLE source")
    with pytest.raises(Exception, match="stays when the table is dropped"):
        server.sql("CREATE TABLE source (k INT) WITH ('table.datalake.enabled' = 'true')")
