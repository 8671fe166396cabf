"""Content and config records of the model API: names, fields and JSON as in `google.genai.types`.

A lazy face over small files: what a program does not name is not loaded. A name that is missing
here is taken from google-genai where that is installed.
"""

# ruff: noqa: E501

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.types.cached_content import CachedContent as CachedContent
    from ostinato.types.cached_content import (
        CachedContentUsageMetadata as CachedContentUsageMetadata,
    )
    from ostinato.types.cached_content import CreateCachedContentConfig as CreateCachedContentConfig
    from ostinato.types.citation import Citation as Citation
    from ostinato.types.citation import CitationMetadata as CitationMetadata
    from ostinato.types.citation import GoogleTypeDate as GoogleTypeDate
    from ostinato.types.citation import LogprobsResult as LogprobsResult
    from ostinato.types.citation import LogprobsResultCandidate as LogprobsResultCandidate
    from ostinato.types.citation import LogprobsResultTopCandidates as LogprobsResultTopCandidates
    from ostinato.types.citation import UrlContextMetadata as UrlContextMetadata
    from ostinato.types.citation import UrlMetadata as UrlMetadata
    from ostinato.types.citation import UrlRetrievalStatus as UrlRetrievalStatus
    from ostinato.types.config import (
        AutomaticFunctionCallingConfig as AutomaticFunctionCallingConfig,
    )
    from ostinato.types.config import GenerateContentConfig as GenerateContentConfig
    from ostinato.types.content import Blob as Blob
    from ostinato.types.content import CodeExecutionResult as CodeExecutionResult
    from ostinato.types.content import Content as Content
    from ostinato.types.content import ExecutableCode as ExecutableCode
    from ostinato.types.content import FileData as FileData
    from ostinato.types.content import FunctionCall as FunctionCall
    from ostinato.types.content import FunctionResponse as FunctionResponse
    from ostinato.types.content import Language as Language
    from ostinato.types.content import ModelContent as ModelContent
    from ostinato.types.content import Outcome as Outcome
    from ostinato.types.content import Part as Part
    from ostinato.types.content import UserContent as UserContent
    from ostinato.types.files import File as File
    from ostinato.types.files import FileSource as FileSource
    from ostinato.types.files import FileState as FileState
    from ostinato.types.files import FileStatus as FileStatus
    from ostinato.types.files import JobError as JobError
    from ostinato.types.finish import BlockedReason as BlockedReason
    from ostinato.types.finish import FinishReason as FinishReason
    from ostinato.types.generation import AspectRatio as AspectRatio
    from ostinato.types.generation import AudioResponseFormat as AudioResponseFormat
    from ostinato.types.generation import Delivery as Delivery
    from ostinato.types.generation import FeatureSelectionPreference as FeatureSelectionPreference
    from ostinato.types.generation import GenerationConfig as GenerationConfig
    from ostinato.types.generation import (
        GenerationConfigRoutingConfig as GenerationConfigRoutingConfig,
    )
    from ostinato.types.generation import (
        GenerationConfigRoutingConfigAutoRoutingMode as GenerationConfigRoutingConfigAutoRoutingMode,
    )
    from ostinato.types.generation import (
        GenerationConfigRoutingConfigManualRoutingMode as GenerationConfigRoutingConfigManualRoutingMode,
    )
    from ostinato.types.generation import GenerationOutputConfig as GenerationOutputConfig
    from ostinato.types.generation import ImageConfig as ImageConfig
    from ostinato.types.generation import (
        ImageConfigImageOutputOptions as ImageConfigImageOutputOptions,
    )
    from ostinato.types.generation import ImageResponseFormat as ImageResponseFormat
    from ostinato.types.generation import ImageSize as ImageSize
    from ostinato.types.generation import MediaResolution as MediaResolution
    from ostinato.types.generation import Modality as Modality
    from ostinato.types.generation import ModelArmorConfig as ModelArmorConfig
    from ostinato.types.generation import ModelSelectionConfig as ModelSelectionConfig
    from ostinato.types.generation import ProminentPeople as ProminentPeople
    from ostinato.types.generation import ResponseFormat as ResponseFormat
    from ostinato.types.generation import ServiceTier as ServiceTier
    from ostinato.types.generation import TextResponseFormat as TextResponseFormat
    from ostinato.types.generation import VideoResponseFormat as VideoResponseFormat
    from ostinato.types.grounding import GroundingChunk as GroundingChunk
    from ostinato.types.grounding import (
        GroundingChunkCustomMetadata as GroundingChunkCustomMetadata,
    )
    from ostinato.types.grounding import GroundingChunkImage as GroundingChunkImage
    from ostinato.types.grounding import GroundingChunkMaps as GroundingChunkMaps
    from ostinato.types.grounding import (
        GroundingChunkMapsPlaceAnswerSources as GroundingChunkMapsPlaceAnswerSources,
    )
    from ostinato.types.grounding import (
        GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution as GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution,
    )
    from ostinato.types.grounding import (
        GroundingChunkMapsPlaceAnswerSourcesReviewSnippet as GroundingChunkMapsPlaceAnswerSourcesReviewSnippet,
    )
    from ostinato.types.grounding import GroundingChunkMapsRoute as GroundingChunkMapsRoute
    from ostinato.types.grounding import (
        GroundingChunkRetrievedContext as GroundingChunkRetrievedContext,
    )
    from ostinato.types.grounding import GroundingChunkStringList as GroundingChunkStringList
    from ostinato.types.grounding import GroundingChunkWeb as GroundingChunkWeb
    from ostinato.types.grounding import GroundingMetadata as GroundingMetadata
    from ostinato.types.grounding import (
        GroundingMetadataSourceFlaggingUri as GroundingMetadataSourceFlaggingUri,
    )
    from ostinato.types.grounding import GroundingSupport as GroundingSupport
    from ostinato.types.grounding import RagChunk as RagChunk
    from ostinato.types.grounding import RagChunkPageSpan as RagChunkPageSpan
    from ostinato.types.grounding import RetrievalMetadata as RetrievalMetadata
    from ostinato.types.grounding import SearchEntryPoint as SearchEntryPoint
    from ostinato.types.grounding import Segment as Segment
    from ostinato.types.http_options import HttpOptions as HttpOptions
    from ostinato.types.http_options import HttpResponse as HttpResponse
    from ostinato.types.http_options import HttpRetryOptions as HttpRetryOptions
    from ostinato.types.http_options import ResourceScope as ResourceScope
    from ostinato.types.live import ActivityEnd as ActivityEnd
    from ostinato.types.live import ActivityStart as ActivityStart
    from ostinato.types.live import InteractionStatus as InteractionStatus
    from ostinato.types.live import LiveClientContent as LiveClientContent
    from ostinato.types.live import LiveServerContent as LiveServerContent
    from ostinato.types.live import LiveServerGoAway as LiveServerGoAway
    from ostinato.types.live import LiveServerMessage as LiveServerMessage
    from ostinato.types.live import (
        LiveServerSessionResumptionUpdate as LiveServerSessionResumptionUpdate,
    )
    from ostinato.types.live import LiveServerSetupComplete as LiveServerSetupComplete
    from ostinato.types.live import LiveServerToolCall as LiveServerToolCall
    from ostinato.types.live import LiveServerToolCallCancellation as LiveServerToolCallCancellation
    from ostinato.types.live import TurnCompleteReason as TurnCompleteReason
    from ostinato.types.live import VadSignalType as VadSignalType
    from ostinato.types.live import VoiceActivity as VoiceActivity
    from ostinato.types.live import VoiceActivityDetectionSignal as VoiceActivityDetectionSignal
    from ostinato.types.live import VoiceActivityType as VoiceActivityType
    from ostinato.types.live_config import ActivityHandling as ActivityHandling
    from ostinato.types.live_config import AutomaticActivityDetection as AutomaticActivityDetection
    from ostinato.types.live_config import AvatarConfig as AvatarConfig
    from ostinato.types.live_config import (
        ContextWindowCompressionConfig as ContextWindowCompressionConfig,
    )
    from ostinato.types.live_config import CustomizedAvatar as CustomizedAvatar
    from ostinato.types.live_config import EndSensitivity as EndSensitivity
    from ostinato.types.live_config import HistoryConfig as HistoryConfig
    from ostinato.types.live_config import LiveConnectConfig as LiveConnectConfig
    from ostinato.types.live_config import ProactivityConfig as ProactivityConfig
    from ostinato.types.live_config import RealtimeInputConfig as RealtimeInputConfig
    from ostinato.types.live_config import SessionResumptionConfig as SessionResumptionConfig
    from ostinato.types.live_config import SlidingWindow as SlidingWindow
    from ostinato.types.live_config import StartSensitivity as StartSensitivity
    from ostinato.types.live_config import TurnCoverage as TurnCoverage
    from ostinato.types.media import AudioMetadata as AudioMetadata
    from ostinato.types.media import DocumentMetadata as DocumentMetadata
    from ostinato.types.media import DocumentMetadataContentLayer as DocumentMetadataContentLayer
    from ostinato.types.media import Image as Image
    from ostinato.types.media import MediaProcessing as MediaProcessing
    from ostinato.types.media import SpeechMetadata as SpeechMetadata
    from ostinato.types.media import SpreadsheetMetadata as SpreadsheetMetadata
    from ostinato.types.media import (
        SpreadsheetMetadataContentLayer as SpreadsheetMetadataContentLayer,
    )
    from ostinato.types.media import Transcription as Transcription
    from ostinato.types.media import VideoMetadata as VideoMetadata
    from ostinato.types.media import VideoMetadataContentLayer as VideoMetadataContentLayer
    from ostinato.types.media import WordInfo as WordInfo
    from ostinato.types.part_details import FunctionResponseBlob as FunctionResponseBlob
    from ostinato.types.part_details import FunctionResponseFileData as FunctionResponseFileData
    from ostinato.types.part_details import FunctionResponsePart as FunctionResponsePart
    from ostinato.types.part_details import FunctionResponseScheduling as FunctionResponseScheduling
    from ostinato.types.part_details import PartialArg as PartialArg
    from ostinato.types.part_details import PartMediaResolution as PartMediaResolution
    from ostinato.types.part_details import PartMediaResolutionLevel as PartMediaResolutionLevel
    from ostinato.types.part_details import ToolCall as ToolCall
    from ostinato.types.part_details import ToolResponse as ToolResponse
    from ostinato.types.part_details import ToolType as ToolType
    from ostinato.types.response import Candidate as Candidate
    from ostinato.types.response import GenerateContentResponse as GenerateContentResponse
    from ostinato.types.response import (
        GenerateContentResponsePromptFeedback as GenerateContentResponsePromptFeedback,
    )
    from ostinato.types.response import ModelStage as ModelStage
    from ostinato.types.response import ModelStatus as ModelStatus
    from ostinato.types.retrieval import ApiSpec as ApiSpec
    from ostinato.types.retrieval import ExternalApi as ExternalApi
    from ostinato.types.retrieval import (
        ExternalApiElasticSearchParams as ExternalApiElasticSearchParams,
    )
    from ostinato.types.retrieval import (
        ExternalApiSimpleSearchParams as ExternalApiSimpleSearchParams,
    )
    from ostinato.types.retrieval import RagRetrievalConfig as RagRetrievalConfig
    from ostinato.types.retrieval import RagRetrievalConfigFilter as RagRetrievalConfigFilter
    from ostinato.types.retrieval import (
        RagRetrievalConfigHybridSearch as RagRetrievalConfigHybridSearch,
    )
    from ostinato.types.retrieval import RagRetrievalConfigRanking as RagRetrievalConfigRanking
    from ostinato.types.retrieval import (
        RagRetrievalConfigRankingLlmRanker as RagRetrievalConfigRankingLlmRanker,
    )
    from ostinato.types.retrieval import (
        RagRetrievalConfigRankingRankService as RagRetrievalConfigRankingRankService,
    )
    from ostinato.types.retrieval import Retrieval as Retrieval
    from ostinato.types.retrieval import VertexAISearch as VertexAISearch
    from ostinato.types.retrieval import VertexAISearchDataStoreSpec as VertexAISearchDataStoreSpec
    from ostinato.types.retrieval import VertexRagStore as VertexRagStore
    from ostinato.types.retrieval import VertexRagStoreRagResource as VertexRagStoreRagResource
    from ostinato.types.safety import HarmBlockMethod as HarmBlockMethod
    from ostinato.types.safety import HarmBlockThreshold as HarmBlockThreshold
    from ostinato.types.safety import HarmCategory as HarmCategory
    from ostinato.types.safety import HarmProbability as HarmProbability
    from ostinato.types.safety import HarmSeverity as HarmSeverity
    from ostinato.types.safety import SafetyRating as SafetyRating
    from ostinato.types.safety import SafetySetting as SafetySetting
    from ostinato.types.schema import JSONSchema as JSONSchema
    from ostinato.types.schema import JSONSchemaType as JSONSchemaType
    from ostinato.types.schema import Schema as Schema
    from ostinato.types.schema import Type as Type
    from ostinato.types.speech import AudioTranscriptionConfig as AudioTranscriptionConfig
    from ostinato.types.speech import AudioTranscriptionConfigMode as AudioTranscriptionConfigMode
    from ostinato.types.speech import LanguageAuto as LanguageAuto
    from ostinato.types.speech import LanguageHints as LanguageHints
    from ostinato.types.speech import MultiSpeakerVoiceConfig as MultiSpeakerVoiceConfig
    from ostinato.types.speech import PrebuiltVoiceConfig as PrebuiltVoiceConfig
    from ostinato.types.speech import ReplicatedVoiceConfig as ReplicatedVoiceConfig
    from ostinato.types.speech import SpeakerVoiceConfig as SpeakerVoiceConfig
    from ostinato.types.speech import SpeechConfig as SpeechConfig
    from ostinato.types.speech import TranslationConfig as TranslationConfig
    from ostinato.types.speech import VoiceConfig as VoiceConfig
    from ostinato.types.speech import VoiceConsentSignature as VoiceConsentSignature
    from ostinato.types.thinking import ThinkingConfig as ThinkingConfig
    from ostinato.types.thinking import ThinkingLevel as ThinkingLevel
    from ostinato.types.tool import Behavior as Behavior
    from ostinato.types.tool import FunctionCallingConfig as FunctionCallingConfig
    from ostinato.types.tool import FunctionCallingConfigMode as FunctionCallingConfigMode
    from ostinato.types.tool import FunctionDeclaration as FunctionDeclaration
    from ostinato.types.tool import LatLng as LatLng
    from ostinato.types.tool import RetrievalConfig as RetrievalConfig
    from ostinato.types.tool import Tool as Tool
    from ostinato.types.tool import ToolConfig as ToolConfig
    from ostinato.types.tool_auth import ApiAuth as ApiAuth
    from ostinato.types.tool_auth import ApiAuthApiKeyConfig as ApiAuthApiKeyConfig
    from ostinato.types.tool_auth import ApiKeyConfig as ApiKeyConfig
    from ostinato.types.tool_auth import AuthConfig as AuthConfig
    from ostinato.types.tool_auth import (
        AuthConfigGoogleServiceAccountConfig as AuthConfigGoogleServiceAccountConfig,
    )
    from ostinato.types.tool_auth import (
        AuthConfigHttpBasicAuthConfig as AuthConfigHttpBasicAuthConfig,
    )
    from ostinato.types.tool_auth import AuthConfigOauthConfig as AuthConfigOauthConfig
    from ostinato.types.tool_auth import AuthConfigOidcConfig as AuthConfigOidcConfig
    from ostinato.types.tool_auth import AuthType as AuthType
    from ostinato.types.tool_auth import HttpElementLocation as HttpElementLocation
    from ostinato.types.tool_kinds import ComputerUse as ComputerUse
    from ostinato.types.tool_kinds import DynamicRetrievalConfig as DynamicRetrievalConfig
    from ostinato.types.tool_kinds import DynamicRetrievalConfigMode as DynamicRetrievalConfigMode
    from ostinato.types.tool_kinds import EnterpriseWebSearch as EnterpriseWebSearch
    from ostinato.types.tool_kinds import Environment as Environment
    from ostinato.types.tool_kinds import FileSearch as FileSearch
    from ostinato.types.tool_kinds import GoogleMaps as GoogleMaps
    from ostinato.types.tool_kinds import GoogleMapsGroundingTypes as GoogleMapsGroundingTypes
    from ostinato.types.tool_kinds import GoogleMapsPlaces as GoogleMapsPlaces
    from ostinato.types.tool_kinds import GoogleMapsRouting as GoogleMapsRouting
    from ostinato.types.tool_kinds import GoogleSearch as GoogleSearch
    from ostinato.types.tool_kinds import GoogleSearchRetrieval as GoogleSearchRetrieval
    from ostinato.types.tool_kinds import ImageSearch as ImageSearch
    from ostinato.types.tool_kinds import Interval as Interval
    from ostinato.types.tool_kinds import McpServer as McpServer
    from ostinato.types.tool_kinds import PhishBlockThreshold as PhishBlockThreshold
    from ostinato.types.tool_kinds import SafetyPolicy as SafetyPolicy
    from ostinato.types.tool_kinds import SearchTypes as SearchTypes
    from ostinato.types.tool_kinds import StreamableHttpTransport as StreamableHttpTransport
    from ostinato.types.tool_kinds import ToolCodeExecution as ToolCodeExecution
    from ostinato.types.tool_kinds import ToolExaAiSearch as ToolExaAiSearch
    from ostinato.types.tool_kinds import ToolParallelAiSearch as ToolParallelAiSearch
    from ostinato.types.tool_kinds import UrlContext as UrlContext
    from ostinato.types.tool_kinds import WebSearch as WebSearch
    from ostinato.types.unions import ContentDict as ContentDict
    from ostinato.types.unions import ContentListUnion as ContentListUnion
    from ostinato.types.unions import ContentListUnionDict as ContentListUnionDict
    from ostinato.types.unions import ContentOrDict as ContentOrDict
    from ostinato.types.unions import ContentUnion as ContentUnion
    from ostinato.types.unions import ContentUnionDict as ContentUnionDict
    from ostinato.types.unions import FunctionCallDict as FunctionCallDict
    from ostinato.types.unions import FunctionDeclarationDict as FunctionDeclarationDict
    from ostinato.types.unions import FunctionDeclarationOrDict as FunctionDeclarationOrDict
    from ostinato.types.unions import FunctionResponseDict as FunctionResponseDict
    from ostinato.types.unions import GenerateContentConfigDict as GenerateContentConfigDict
    from ostinato.types.unions import HttpOptionsDict as HttpOptionsDict
    from ostinato.types.unions import PartDict as PartDict
    from ostinato.types.unions import PartListUnion as PartListUnion
    from ostinato.types.unions import PartListUnionDict as PartListUnionDict
    from ostinato.types.unions import PartOrDict as PartOrDict
    from ostinato.types.unions import PartUnion as PartUnion
    from ostinato.types.unions import PartUnionDict as PartUnionDict
    from ostinato.types.unions import SchemaDict as SchemaDict
    from ostinato.types.unions import SchemaOrDict as SchemaOrDict
    from ostinato.types.unions import SchemaUnion as SchemaUnion
    from ostinato.types.unions import SchemaUnionDict as SchemaUnionDict
    from ostinato.types.unions import SpeechConfigUnion as SpeechConfigUnion
    from ostinato.types.unions import SpeechConfigUnionDict as SpeechConfigUnionDict
    from ostinato.types.unions import ToolDict as ToolDict
    from ostinato.types.unions import ToolListUnion as ToolListUnion
    from ostinato.types.unions import ToolListUnionDict as ToolListUnionDict
    from ostinato.types.unions import ToolOrDict as ToolOrDict
    from ostinato.types.unions import ToolUnion as ToolUnion
    from ostinato.types.unions import ToolUnionDict as ToolUnionDict
    from ostinato.types.usage import (
        GenerateContentResponseUsageMetadata as GenerateContentResponseUsageMetadata,
    )
    from ostinato.types.usage import MediaModality as MediaModality
    from ostinato.types.usage import ModalityTokenCount as ModalityTokenCount
    from ostinato.types.usage import TrafficType as TrafficType
    from ostinato.types.usage import UsageMetadata as UsageMetadata

__getattr__, __dir__, __all__ = attach(__name__, fallback="google.genai.types")
